/** Compresses headers (RFC 7541): what is sent again and again becomes a byte. Pure. */
import type { HeaderList } from "./fields.ts";
import { TABLE_BYTES, writeHeader, writeLength } from "./hpack.ts";

/** Entries of the table that every connection has; those of the connection follow them. */
const STATIC_ENTRIES = 61;
/** What the RFC adds to name and value for each entry. */
const ENTRY_OVERHEAD = 32;

/** A header that is sent again and again. Made once: the encoder knows it by its identity. */
export class HeaderField {
  readonly #bytes: Uint8Array;
  /** What it takes of the table. */
  readonly size: number;

  /** @param staticIndex place of name and value in the static table; 0: not there. */
  constructor(name: string, value: string, readonly staticIndex = 0) {
    this.size = name.length + value.length + ENTRY_OVERHEAD;
    const out = new Uint8Array(this.size);
    this.#bytes = out.slice(0, writeHeader(out, 0, 0x40, [name, value], 0));
  }

  /** As a literal that both sides put into their tables. */
  get literal(): Uint8Array {
    return this.#bytes;
  }
}

/** Headers to be sent. */
export interface HeaderBlock {
  readonly repeated: readonly HeaderField[];
  /** Names and values in turns; they come after the others. */
  readonly others: HeaderList;
}

/** Where blocks are written, of all connections: each is sent before the next one is made. */
let out: Uint8Array = new Uint8Array(512);

/** One direction of one connection. Blocks have to be sent in the order they are encoded in. */
export class HpackEncoder {
  /** By the number it was inserted as. */
  readonly #known = new Map<HeaderField, number>();
  /** Oldest first: a Map keeps the order of insertion. */
  #inserted = 0;
  #bytes = 0;
  #limit = TABLE_BYTES;
  /**
   * The peer has to be notified of the smallest limit since the last block, then of the present
   * one.
   */
  #smallest: number | undefined;

  /** The peer's decoder keeps so many bytes at most. */
  limit(bytes: number): void {
    const limit = Math.min(TABLE_BYTES, bytes);
    if (limit === this.#limit && this.#smallest === undefined) return;
    this.#smallest = Math.min(this.#smallest ?? limit, limit);
    this.#limit = limit;
    this.#makeRoom(0);
  }

  /** @returns bytes that are only valid until the next call, of any encoder. */
  encode({ repeated, others }: HeaderBlock): Uint8Array {
    this.#reserve(repeated, others);
    let at = this.#writeLimit(0);
    for (const field of repeated) at = this.#writeField(at, field);
    for (let n = 0; n < others.length; n += 2) at = writeHeader(out, at, 0, others, n);
    return out.subarray(0, at);
  }

  #writeField(at: number, field: HeaderField): number {
    if (field.staticIndex > 0) {
      out[at] = 0x80 | field.staticIndex;
      return at + 1;
    }
    const number = this.#known.get(field);
    if (number !== undefined) {
      return writeLength(out, at, STATIC_ENTRIES + this.#inserted - number, 7, 0x80);
    }
    out.set(field.literal, at);
    // One that is larger than the whole table empties it: so the RFC has it.
    this.#makeRoom(field.size);
    if (field.size <= this.#limit) {
      this.#known.set(field, this.#inserted++);
      this.#bytes += field.size;
    }
    return at + field.literal.length;
  }

  #makeRoom(bytes: number): void {
    for (const field of this.#known.keys()) {
      if (this.#bytes + bytes <= this.#limit) return;
      this.#known.delete(field);
      this.#bytes -= field.size;
    }
  }

  #writeLimit(from: number): number {
    if (this.#smallest === undefined) return from;
    let at = from;
    if (this.#smallest < this.#limit) at = writeLength(out, at, this.#smallest, 5, 0x20);
    at = writeLength(out, at, this.#limit, 5, 0x20);
    this.#smallest = undefined;
    return at;
  }

  #reserve(repeated: readonly HeaderField[], others: HeaderList): void {
    let size = 16;
    for (const field of repeated) size += field.size;
    for (const text of others) size += text.length + 6;
    if (size > out.length) out = new Uint8Array(2 * size);
  }
}
