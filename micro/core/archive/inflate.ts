/** The bytes are no archive that is taken. */
export class ArchiveError extends Error {}

/** The distance that a match reaches back (RFC 1951). Bytes. */
const WINDOW = 32 * 1024;
const LONGEST_CODE = 15;
const END_OF_BLOCK = 256;
/** More of the input is needed. */
const MORE = -1;

const LENGTH_BASE = [
  ...[3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99],
  ...[115, 131, 163, 195, 227, 258],
];
const LENGTH_EXTRA = [
  ...[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0],
];
const DISTANCE_BASE = [
  ...[1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025],
  ...[1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577],
];
const DISTANCE_EXTRA = [
  ...[0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12],
  ...[13, 13],
];
/** In which order the lengths of the codes for lengths come. */
const LENGTHS_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** How many codes of each length there are, and the symbols in the order of their codes. */
interface Codes {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

/**
 * Reads a gzip file that comes piece by piece (RFC 1951 and 1952), in 32 KiB of memory. It does not
 * look at the sum at the end: whoever needs to know compares a better one.
 */
export class Gunzip {
  readonly #window = new Uint8Array(WINDOW);
  #filled = 0;
  /** Bytes from the start on that a match may reach back to, at most the window. */
  #history = 0;
  #input: Uint8Array = new Uint8Array(0);
  #at = 0;
  #bits = 0;
  #count = 0;
  #done = false;
  readonly #steps: Generator<void, void>;

  /** @param onBytes receives what comes out, each piece once; it may keep them. */
  constructor(private readonly onBytes: (bytes: Uint8Array) => void) {
    this.#steps = this.#read();
  }

  /** Whether the end was seen. */
  get done(): boolean {
    return this.#done;
  }

  /** Takes the next piece; what follows the end is ignored. @throws {ArchiveError} for what is no gzip */
  push(bytes: Uint8Array): void {
    if (this.#done) return;
    this.#input = bytes;
    this.#at = 0;
    this.#done = this.#steps.next().done ?? false;
    this.#flush();
  }

  *#read(): Generator<void, void> {
    yield* this.#header();
    for (let isLast = false; !isLast;) {
      while (!this.#fill(3)) yield;
      isLast = this.#take(1) === 1;
      const kind = this.#take(2);
      if (kind === 0) yield* this.#stored();
      else if (kind === 1) yield* this.#block(FIXED.literals, FIXED.distances);
      else if (kind === 2) {
        const { literals, distances } = yield* this.#tables();
        yield* this.#block(literals, distances);
      } else throw damaged();
    }
  }

  *#header(): Generator<void, void> {
    const head: number[] = [];
    for (let i = 0; i < 10; i++) head.push(yield* this.#byte());
    const [a, b, method, flags = 0] = head;
    if (a !== 0x1f || b !== 0x8b || method !== 8 || flags > 31) throw damaged();
    if (flags & 4) {
      const length = (yield* this.#byte()) | (yield* this.#byte()) << 8;
      for (let i = 0; i < length; i++) yield* this.#byte();
    }
    // The file's name, and a comment.
    for (const flag of [8, 16]) if (flags & flag) { while ((yield* this.#byte()) !== 0); }
    if (flags & 2) { for (let i = 0; i < 2; i++) yield* this.#byte(); }
  }

  *#byte(): Generator<void, number> {
    while (!this.#fill(8)) yield;
    return this.#take(8);
  }

  *#stored(): Generator<void, void> {
    this.#take(this.#count % 8);
    const length = (yield* this.#byte()) | (yield* this.#byte()) << 8;
    const inverse = (yield* this.#byte()) | (yield* this.#byte()) << 8;
    if (length !== (~inverse & 0xffff)) throw damaged();
    for (let i = 0; i < length; i++) this.#put(yield* this.#byte());
  }

  *#tables(): Generator<void, { literals: Codes; distances: Codes }> {
    while (!this.#fill(14)) yield;
    const [ofLiterals, ofDistances] = [this.#take(5) + 257, this.#take(5) + 1];
    const ofLengths = this.#take(4) + 4;
    if (ofLiterals > 286 || ofDistances > 30) throw damaged();
    const lengths = new Uint8Array(19);
    for (const symbol of LENGTHS_ORDER.slice(0, ofLengths)) {
      while (!this.#fill(3)) yield;
      lengths[symbol] = this.#take(3);
    }
    const codes = codesOf(lengths);
    const all = new Uint8Array(ofLiterals + ofDistances);
    for (let at = 0; at < all.length;) {
      let symbol: number;
      while ((symbol = this.#symbol(codes)) === MORE) yield;
      if (symbol < 16) {
        all[at++] = symbol;
        continue;
      }
      while (!this.#fill(7)) yield;
      const value = symbol === 16 ? all[at - 1] : 0;
      const times = symbol === 16
        ? 3 + this.#take(2)
        : symbol === 17
        ? 3 + this.#take(3)
        : 11 + this.#take(7);
      if (value === undefined || at + times > all.length) throw damaged();
      all.fill(value, at, at += times);
    }
    if (all[END_OF_BLOCK] === 0) throw damaged();
    return {
      literals: codesOf(all.subarray(0, ofLiterals)),
      distances: codesOf(all.subarray(ofLiterals)),
    };
  }

  *#block(literals: Codes, distances: Codes): Generator<void, void> {
    for (;;) {
      let symbol: number;
      while ((symbol = this.#symbol(literals)) === MORE) yield;
      if (symbol < END_OF_BLOCK) {
        this.#put(symbol);
        continue;
      }
      if (symbol === END_OF_BLOCK) return;
      const extra = LENGTH_EXTRA[symbol - 257];
      if (extra === undefined) throw damaged();
      while (!this.#fill(extra)) yield;
      const length = (LENGTH_BASE[symbol - 257] ?? 0) + this.#take(extra);
      while ((symbol = this.#symbol(distances)) === MORE) yield;
      const more = DISTANCE_EXTRA[symbol];
      if (more === undefined) throw damaged();
      while (!this.#fill(more)) yield;
      const distance = (DISTANCE_BASE[symbol] ?? 0) + this.#take(more);
      if (distance > this.#history) throw damaged();
      for (let i = 0; i < length; i++) {
        this.#put(this.#window[(this.#filled - distance) & (WINDOW - 1)] ?? 0);
      }
    }
  }

  #put(byte: number): void {
    this.#window[this.#filled++] = byte;
    if (this.#history < WINDOW) this.#history++;
    if (this.#filled === WINDOW) this.#flush();
  }

  /** Where the pieces that were given out end. */
  #given = 0;

  #flush(): void {
    if (this.#filled > this.#given) this.onBytes(this.#window.slice(this.#given, this.#filled));
    if (this.#filled === WINDOW) this.#filled = 0;
    this.#given = this.#filled;
  }

  /** Whether there are so many bits now. */
  #fill(wanted: number): boolean {
    while (this.#count < wanted) {
      const byte = this.#input[this.#at];
      if (byte === undefined) return false;
      this.#at++;
      this.#bits |= byte << this.#count;
      this.#count += 8;
    }
    return true;
  }

  #take(count: number): number {
    const value = this.#bits & (1 << count) - 1;
    this.#bits >>>= count;
    this.#count -= count;
    return value;
  }

  /** The next symbol, or MORE when the bits of its code are not there yet. */
  #symbol({ counts, symbols }: Codes): number {
    this.#fill(LONGEST_CODE);
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length <= LONGEST_CODE; length++) {
      if (length > this.#count) return MORE;
      code |= this.#bits >>> length - 1 & 1;
      const count = counts[length] ?? 0;
      if (code - count < first) {
        this.#take(length);
        return symbols[index + code - first] ?? 0;
      }
      index += count;
      first = first + count << 1;
      code <<= 1;
    }
    throw damaged();
  }
}

/** @throws {ArchiveError} when there are more codes than the lengths have room for */
function codesOf(lengths: Uint8Array): Codes {
  const counts = new Uint16Array(LONGEST_CODE + 1);
  for (const length of lengths) counts[length] = (counts[length] ?? 0) + 1;
  counts[0] = 0;
  let left = 1;
  const offsets = new Uint16Array(LONGEST_CODE + 2);
  for (let length = 1; length <= LONGEST_CODE; length++) {
    left = left * 2 - (counts[length] ?? 0);
    if (left < 0) throw damaged();
    offsets[length + 1] = (offsets[length] ?? 0) + (counts[length] ?? 0);
  }
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length === 0) return;
    const at = offsets[length] ?? 0;
    symbols[at] = symbol;
    offsets[length] = at + 1;
  });
  return { counts, symbols };
}

const FIXED = {
  literals: codesOf(
    Uint8Array.from(
      { length: 288 },
      (_, symbol) => symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8,
    ),
  ),
  distances: codesOf(new Uint8Array(30).fill(5)),
};

function damaged(): ArchiveError {
  return new ArchiveError("the archive is damaged");
}
