import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readElf } from "../compile/elf.ts";
import { imageRuntime, joinImage } from "./elf_image.ts";

/** An ELF file with its section header table, of two entries, right behind the header. */
function elf(): Uint8Array {
  const file = new Uint8Array(5_000);
  const view = new DataView(file.buffer);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(0x12, 62, true);
  view.setBigUint64(0x28, 64n, true);
  view.setUint16(0x3a, 64, true);
  view.setUint16(0x3c, 2, true);
  file.fill(7, 64, 192);
  return file;
}

Deno.test("imageRuntime() ends with the section headers, at a block's boundary, and has the mark", () => {
  const made = imageRuntime(elf());
  assert.equal(readElf(made).end, made.length);
  assert.equal(made.length % 4096, 0);
  assert.deepEqual([...made.subarray(8, 11)], [0x41, 0x49, 2]);
  assert.ok(made.subarray(made.length - 128).every((byte) => byte === 7));
});

Deno.test("joinImage() puts the content at the end of the ELF file, and its digest behind", () => {
  const runtime = imageRuntime(elf());
  const made = Buffer.from(joinImage(runtime, new Uint8Array([1, 2, 3])));
  assert.deepEqual([...made.subarray(readElf(made).end, readElf(made).end + 3)], [1, 2, 3]);
  assert.equal(
    made.subarray(-32).toString("hex"),
    "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81",
  );
});
