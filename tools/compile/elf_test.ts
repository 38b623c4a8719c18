import assert from "node:assert/strict";
import { cutElf, readElf } from "./elf.ts";

/** A header whose section table of two entries ends at 64 + 128, and a payload after it. */
function elf(machine: number, payload = 32): Uint8Array {
  const file = new Uint8Array(192 + payload).fill(7, 192);
  const view = new DataView(file.buffer);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(0x12, machine, true);
  view.setBigUint64(0x28, 64n, true);
  view.setUint16(0x3a, 64, true);
  view.setUint16(0x3c, 2, true);
  return file;
}

Deno.test("readElf() reads the machine and where the linked file ends", () => {
  assert.deepEqual(readElf(elf(62)), { machine: "x64", end: 192 });
  assert.deepEqual(readElf(elf(183)), { machine: "arm64", end: 192 });
});

Deno.test("cutElf() drops what was appended", () => {
  assert.deepEqual(cutElf(elf(62)), elf(62, 0));
});

Deno.test("readElf() says what is wrong when the file is of another kind", () => {
  assert.throws(() => readElf(new Uint8Array(10)), /not an ELF file/);
  assert.throws(() => readElf(elf(40)), /machine 40/);
  assert.throws(() => readElf(elf(62).subarray(0, 150)), /after the file/);
  const bits32 = elf(62);
  bits32[4] = 1;
  assert.throws(() => readElf(bits32), /64-bit/);
});
