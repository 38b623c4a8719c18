/** Makes the runtime of an application image: an ELF file that says that something follows. */
import { createHash } from "node:crypto";
import { readElf } from "../compile/elf.ts";

/** "AI" and the type, in bytes of the ELF header that nobody else uses. */
const MAGIC = { at: 8, bytes: new Uint8Array([0x41, 0x49, 2]) };
/** Loop devices begin where a block does. */
const BLOCK = 4096;
const TABLE_OFFSET = 0x28;
const ENTRY_SIZE = 0x3a;
const ENTRY_COUNT = 0x3c;
/** The file ends with this and the SHA-256 of the content; runtime/image.go reads it. */
const TRAILER_MARK = "machine image 1\n";

/**
 * A copy with the section header table moved to its end, at a block's boundary, where tools for
 * images look for the content, and with the mark of type 2.
 */
export function imageRuntime(elf: Uint8Array): Uint8Array<ArrayBuffer> {
  readElf(elf);
  const view = new DataView(elf.buffer, elf.byteOffset, elf.byteLength);
  const from = Number(view.getBigUint64(TABLE_OFFSET, true));
  const length = view.getUint16(ENTRY_SIZE, true) * view.getUint16(ENTRY_COUNT, true);
  const end = Math.ceil((elf.length + length) / BLOCK) * BLOCK;
  const made = new Uint8Array(end);
  made.set(elf);
  made.set(elf.subarray(from, from + length), end - length);
  new DataView(made.buffer).setBigUint64(TABLE_OFFSET, BigInt(end - length), true);
  made.set(MAGIC.bytes, MAGIC.at);
  return made;
}

/** Runtime, content and trailer in one. */
export function joinImage(runtime: Uint8Array, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const trailer = new TextEncoder().encode(TRAILER_MARK);
  const digest = createHash("sha256").update(content).digest();
  const made = new Uint8Array(runtime.length + content.length + trailer.length + digest.length);
  let at = 0;
  for (const part of [runtime, content, trailer, digest]) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}
