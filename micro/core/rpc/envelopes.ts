import { concat } from "../bytes/bytes.ts";
import { RpcError } from "./errors.ts";

/** Flags and length in front of a message of a stream. */
export function envelopeHead(flags: number, length: number): Uint8Array {
  return Uint8Array.of(flags, length >>> 24, length >>> 16, length >>> 8, length);
}

/** Cuts a stream into messages with {@link envelopeHead}. */
export class Envelopes {
  #kept: Uint8Array = new Uint8Array(0);

  constructor(
    private readonly most: number,
    private readonly onMessage: (flags: number, message: Uint8Array) => void,
  ) {}

  /** Nothing of a message is kept. */
  get idle(): boolean {
    return this.#kept.length === 0;
  }

  /** @throws RpcError for a message that is too large */
  push(bytes: Uint8Array): void {
    let rest = this.#kept.length > 0 ? concat([this.#kept, bytes]) : bytes;
    this.#kept = new Uint8Array(0);
    while (rest.length >= 5) {
      const [flags = 0, a = 0, b = 0, c = 0, d = 0] = rest;
      const length = a * 0x1000000 + (b << 16 | c << 8 | d);
      if (length > this.most) {
        throw new RpcError("resource_exhausted", `a message of ${length} bytes is too large`);
      }
      if (rest.length < 5 + length) break;
      this.onMessage(flags, rest.subarray(5, 5 + length));
      rest = rest.subarray(5 + length);
    }
    this.#kept = rest.slice();
  }
}
