import { ArchiveError } from "./inflate.ts";
import { concat } from "../bytes/bytes.ts";
import { fromUtf8 } from "../bytes/utf8.ts";

const BLOCK = 512;
const SIZE_AT = 124;
const SIZE_LENGTH = 12;
const KIND_AT = 156;
const MAGIC_AT = 257;

/** What becomes of the file. */
export interface FileReader {
  onStart(size: number): void;
  onBytes(bytes: Uint8Array): void;
}

/** Reads the first file of a tar that comes piece by piece (POSIX ustar); the rest is ignored. */
export class FirstFile {
  #head: Uint8Array = new Uint8Array(0);
  /** Bytes of the present entry that are to come, and whether it is the file. */
  #left = 0;
  #skip = 0;
  #isFile = false;
  #done = false;

  constructor(private readonly reader: FileReader) {}

  /** Whether the file was there whole. */
  get done(): boolean {
    return this.#done;
  }

  /** Takes the next piece. @throws {ArchiveError} for what is no tar */
  push(bytes: Uint8Array): void {
    for (let rest = bytes; rest.length > 0 && !this.#done;) rest = this.#take(rest);
  }

  /** @returns what is left of the piece */
  #take(bytes: Uint8Array): Uint8Array {
    if (this.#isFile) {
      const piece = bytes.subarray(0, this.#left);
      this.#left -= piece.length;
      this.reader.onBytes(piece);
      this.#done = this.#left === 0;
      return bytes.subarray(piece.length);
    }
    const skipped = Math.min(this.#skip, bytes.length);
    this.#skip -= skipped;
    const rest = bytes.subarray(skipped);
    const missing = BLOCK - this.#head.length;
    this.#head = concat([this.#head, rest.subarray(0, missing)]);
    if (this.#head.length === BLOCK) this.#entry();
    return rest.subarray(missing);
  }

  #entry(): void {
    const head = this.#head;
    this.#head = new Uint8Array(0);
    const text = fromUtf8(head.subarray(SIZE_AT, SIZE_AT + SIZE_LENGTH)).replace(/[\0 ]+$/, "");
    const isTar = fromUtf8(head.subarray(MAGIC_AT, MAGIC_AT + 5)) === "ustar";
    if (!isTar || !/^[0-7]{1,11}$/.test(text)) {
      throw new ArchiveError("the archive has no file in it");
    }
    const size = parseInt(text, 8);
    const kind = head[KIND_AT];
    this.#isFile = kind === 0x30 || kind === 0;
    if (!this.#isFile) {
      // Folders, links, and what describes the next entry.
      this.#skip = Math.ceil(size / BLOCK) * BLOCK;
      return;
    }
    this.#left = size;
    this.reader.onStart(size);
    this.#done = size === 0;
  }
}
