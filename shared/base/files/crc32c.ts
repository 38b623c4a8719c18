/** The polynomial of Castagnoli, bits reversed (RFC 3720, appendix B.4). */
const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

/**
 * CRC-32C of bytes that come piece by piece, about 1 GB/s. Object stores name files by it, so the
 * servers of machines check downloads with it.
 */
export class Crc32c {
  static #tables: Uint32Array | undefined;
  readonly #table = Crc32c.#tables ??= makeTables();
  #state = 0xffffffff;

  /** Takes the next piece. */
  update(bytes: Uint8Array): this {
    const table = this.#table;
    const whole = bytes.length - bytes.length % SLICES;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let crc = this.#state;
    for (let at = 0; at < whole; at += SLICES) {
      const low = crc ^ view.getInt32(at, true);
      const high = view.getInt32(at + 4, true);
      crc = table[0x700 | low & 0xff]! ^ table[0x600 | low >>> 8 & 0xff]! ^
        table[0x500 | low >>> 16 & 0xff]! ^ table[0x400 | low >>> 24]! ^
        table[0x300 | high & 0xff]! ^ table[0x200 | high >>> 8 & 0xff]! ^
        table[0x100 | high >>> 16 & 0xff]! ^ table[high >>> 24]!;
    }
    for (let at = whole; at < bytes.length; at++) {
      crc = table[(crc ^ bytes[at]!) & 0xff]! ^ crc >>> 8;
    }
    this.#state = crc;
    return this;
  }

  /** The sum of everything so far, 0 to 2^32 - 1. */
  get value(): number {
    return (this.#state ^ 0xffffffff) >>> 0;
  }

  /** The four bytes, most significant first, as the header `x-goog-hash: crc32c=…` has them. */
  toBase64(): string {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, this.value);
    return bytes.toBase64();
  }
}

/** Table n (256 entries at n * 256) gives what a byte makes of the sum when n bytes follow it. */
function makeTables(): Uint32Array {
  const tables = new Uint32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >>> 1 ^ POLYNOMIAL : crc >>> 1;
    tables[byte] = crc;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256]!;
    tables[at] = tables[before & 0xff]! ^ before >>> 8;
  }
  return tables;
}
