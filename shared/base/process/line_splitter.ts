const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Cuts a stream of bytes into lines of text, whatever pieces it arrives in. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #longest: number;
  readonly #decoder = new TextDecoder();
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;

  /** @param longest a line of more bytes is handed over in pieces of that size. */
  constructor(longest: number, onLine: (line: string) => void) {
    this.#longest = longest;
    this.#onLine = onLine;
  }

  /** Takes the next piece. It is copied where it must be kept. */
  push(chunk: Uint8Array): void {
    let rest = chunk;
    for (;;) {
      const room = this.#longest - this.#pendingBytes;
      const end = rest.subarray(0, room + 1).indexOf(LINE_FEED);
      if (end >= 0) {
        this.#emit(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
      } else if (rest.length > room) {
        const cut = characterStart(rest, room);
        this.#emit(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      } else {
        if (rest.length > 0) this.#pending.push(rest.slice());
        this.#pendingBytes += rest.length;
        return;
      }
    }
  }

  /** Hands over a last line that has no line feed. */
  end(): void {
    if (this.#pendingBytes > 0) this.#emit(new Uint8Array());
  }

  #emit(last: Uint8Array): void {
    const line = this.#pending.length === 0 ? last : concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    const end = line.at(-1) === CARRIAGE_RETURN ? -1 : line.length;
    this.#onLine(this.#decoder.decode(line.subarray(0, end)));
  }
}

/** The last place at or before `index` where a UTF-8 character starts. */
function characterStart(bytes: Uint8Array, index: number): number {
  const isInside = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  let start = index;
  while (start > 0 && index - start < 3 && isInside(start)) start--;
  return isInside(start) ? index : start;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
