/**
 * Messages between two processes over a pipe: a value in JSON and any number of byte strings. Each is
 * framed by the length of the JSON, then the JSON with the lengths of the parts, then the parts.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { writeAll } from "../files/write_all.ts";

export interface Frame<T extends JsonValue | object> {
  readonly head: T;
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
}

/** Most bytes of a frame's JSON, and of its parts together: a message of the network has less. */
const MOST_HEAD_BYTES = 16 * 1024 * 1024;
const MOST_PART_BYTES = 512 * 1024 * 1024;

/** Writes one frame. @throws when the reader has gone. */
export async function writeFrame(
  to: { write(bytes: Uint8Array): Promise<number> },
  { head, parts }: Frame<object>,
): Promise<void> {
  const text = new TextEncoder().encode(
    JSON.stringify({ head, sizes: parts.map(({ length }) => length) }),
  );
  const bytes = new Uint8Array(4 + text.length);
  new DataView(bytes.buffer).setUint32(0, text.length);
  bytes.set(text, 4);
  await writeAll(to, bytes);
  for (const part of parts) await writeAll(to, part);
}

/**
 * The frames of a stream, in order.
 *
 * @throws when a frame is larger than allowed, or the stream ends inside one.
 */
export async function* readFrames<T extends object>(
  from: AsyncIterable<Uint8Array>,
): AsyncGenerator<Frame<T>> {
  const reader = new ExactReader(from[Symbol.asyncIterator]());
  for (;;) {
    const size = await reader.read(4, true);
    if (!size) return;
    const headSize = new DataView(size.buffer).getUint32(0);
    if (headSize > MOST_HEAD_BYTES) throw new Error(`a frame's head has ${headSize} bytes`);
    const text = new TextDecoder().decode(await reader.read(headSize));
    const { head, sizes } = JSON.parse(text) as { head: T; sizes: number[] };
    if (sizes.reduce((sum, part) => sum + part, 0) > MOST_PART_BYTES) {
      throw new Error(`a frame has more than ${MOST_PART_BYTES} bytes`);
    }
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for (const part of sizes) parts.push(await reader.read(part));
    yield { head, parts };
  }
}

class ExactReader {
  #rest = new Uint8Array();

  constructor(private readonly from: AsyncIterator<Uint8Array>) {}

  read(size: number): Promise<Uint8Array<ArrayBuffer>>;
  read(size: number, mayEnd: true): Promise<Uint8Array<ArrayBuffer> | undefined>;
  async read(size: number, mayEnd = false): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size;) {
      if (this.#rest.length === 0) {
        const next = await this.from.next();
        if (next.done) {
          if (mayEnd && at === 0) return undefined;
          throw new Error("the stream ended inside a frame");
        }
        this.#rest = new Uint8Array(next.value);
      }
      const taken = this.#rest.subarray(0, size - at);
      bytes.set(taken, at);
      at += taken.length;
      this.#rest = this.#rest.subarray(taken.length);
    }
    return bytes;
  }
}
