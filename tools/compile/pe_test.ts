import assert from "node:assert/strict";
import { cutPe, PAYLOAD_SECTION, peProblems, readPe } from "./pe.ts";

const HEADERS = 0x400;

interface Layout {
  sections: { name: string; address: number; size: number }[];
  sizeOfImage: number;
  resources: number;
}

/** The parts of a PE file that we read, with section bodies one after the other. */
function pe({ sections, sizeOfImage, resources }: Layout): Uint8Array<ArrayBuffer> {
  const length = sections.reduce((sum, { size }) => sum + size, HEADERS);
  const file = new Uint8Array(length);
  const view = new DataView(file.buffer);
  const at = 0x80;
  const optional = at + 24;
  view.setUint16(0, 0x4d5a);
  view.setUint32(0x3c, at, true);
  view.setUint32(at, 0x50450000);
  view.setUint16(at + 4, 0x8664, true);
  view.setUint16(at + 6, sections.length, true);
  view.setUint16(at + 20, 240, true);
  view.setUint16(optional, 0x20b, true);
  view.setUint32(optional + 32, 0x1000, true);
  view.setUint32(optional + 56, sizeOfImage, true);
  view.setUint32(optional + 112 + 16, resources, true);
  view.setUint32(optional + 112 + 20, 8, true);
  let offset = HEADERS;
  sections.forEach(({ name, address, size }, i) => {
    const header = optional + 240 + 40 * i;
    file.set(new TextEncoder().encode(name), header);
    view.setUint32(header + 8, size, true);
    view.setUint32(header + 12, address, true);
    view.setUint32(header + 16, size, true);
    view.setUint32(header + 20, offset, true);
    file.fill(i + 1, offset, offset + size);
    offset += size;
  });
  return file;
}

const text = { name: ".text", address: 0x1000, size: 0x1200 };
const reloc = { name: ".reloc", address: 0x3000, size: 0x200 };
const payload = { name: PAYLOAD_SECTION, address: 0x4000, size: 0x600 };
const compiled: Layout = {
  sections: [text, reloc, payload],
  sizeOfImage: 0x5000,
  resources: 0x4000,
};

Deno.test("readPe() reads sections, image size and resources", () => {
  const facts = readPe(pe(compiled));
  assert.equal(facts.machine, "x64");
  assert.deepEqual(facts.sections.map(({ name, rawOffset }) => [name, rawOffset]), [
    [".text", 0x400],
    [".reloc", 0x1600],
    [PAYLOAD_SECTION, 0x1800],
  ]);
  assert.equal(facts.sizeOfImage, 0x5000);
  assert.equal(facts.resources.virtualAddress, 0x4000);
});

Deno.test("cutPe() leaves the file as it was before the payload was added", () => {
  const before = pe({ sections: [text, reloc], sizeOfImage: 0x4000, resources: 0 });
  // The resource directory of the bare runtime is empty, its size included.
  before.fill(0, readPe(before).fields.resources, readPe(before).fields.resources + 8);
  assert.deepEqual(cutPe(pe(compiled)), before);
});

Deno.test("cutPe() refuses a file whose last section is not the payload", () => {
  assert.throws(() => cutPe(pe({ ...compiled, sections: [text, reloc] })), /\.reloc/);
});

Deno.test("peProblems() finds none in a sound file", () => {
  assert.deepEqual(peProblems(pe(compiled)), []);
});

Deno.test("peProblems() finds an image that is too small for its sections", () => {
  assert.match(peProblems(pe({ ...compiled, sizeOfImage: 0x4000 })).join(), /SizeOfImage/);
});

Deno.test("peProblems() finds two payloads, overlaps and resources that point elsewhere", () => {
  const twice = [text, { ...payload, address: 0x3000 }, payload];
  assert.match(peProblems(pe({ ...compiled, sections: twice })).join(), /more than one/);
  const overlap = [text, { ...reloc, address: 0x2000 }, payload];
  assert.match(peProblems(pe({ ...compiled, sections: overlap })).join(), /\.reloc overlaps/);
  assert.match(peProblems(pe({ ...compiled, resources: 0x3000 })).join(), /resource directory/);
  assert.match(peProblems(pe(compiled).subarray(0, 0x1900)).join(), /ends after the file/);
});

Deno.test("readPe() says what is wrong when the file is of another kind", () => {
  assert.throws(() => readPe(new Uint8Array(100)), /no MZ/);
});
