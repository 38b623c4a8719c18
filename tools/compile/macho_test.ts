import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { PAYLOAD_MARK, PAYLOAD_NAME, PAYLOAD_SEGMENT, payloadOf, readMacho } from "./macho.ts";
import { machoProblems } from "./macho_check.ts";
import { cutMacho } from "./macho_cut.ts";

const PAGE = 0x1000;
const PROGRAM = new TextEncoder().encode(`${PAYLOAD_NAME} and the bundle`);
const STRINGS = new TextEncoder().encode("\0_main\0\0");

/** A segment of a page or more, with its content. */
interface Part {
  readonly name: string;
  readonly content: Uint8Array;
  readonly section?: string;
}

/**
 * The parts of a Mach-O file that we read: segments one after the other, the last of them
 * `__LINKEDIT` with a string table and, on request, an ad-hoc signature.
 */
function macho(parts: readonly Part[], strings: Uint8Array, signed: boolean): Uint8Array {
  const commands: Uint8Array[] = [];
  const bodies: Uint8Array[] = [];
  let offset = 0;
  for (const { name, content, section } of parts) {
    const size = Math.ceil(content.length / PAGE) * PAGE;
    const body = new Uint8Array(size);
    body.set(content);
    bodies.push(body);
    commands.push(segment({ name, offset, size, section, sectionSize: content.length }));
    offset += size;
  }
  const pages = Math.ceil((offset + strings.length) / PAGE);
  const signature = signed ? 20 + 88 + 2 + 32 * pages : 0;
  const size = strings.length + signature;
  commands.push(segment({ name: "__LINKEDIT", offset, size }));
  commands.push(numbers([0x2, 24, 0, 0, offset, strings.length]));
  const limit = offset + strings.length;
  if (signed) commands.push(numbers([0x1d, 16, limit, signature]));
  const linkedit = new Uint8Array(size);
  linkedit.set(strings);
  const file = joined([...bodies, linkedit]);
  const all = joined(commands);
  const machine = signed ? 0x0100000c : 0x01000007;
  file.set(numbers([0xfeedfacf, machine, 0, 2, commands.length, all.length, 0, 0]));
  file.set(all, 32);
  if (signed) sign(file, limit, pages);
  return file;
}

function segment(
  { name, offset, size, section, sectionSize = 0 }: {
    name: string;
    offset: number;
    size: number;
    section?: string | undefined;
    sectionSize?: number;
  },
): Uint8Array {
  const command = new Uint8Array(72 + (section === undefined ? 0 : 80));
  const view = new DataView(command.buffer);
  const text = (at: number, value: string) => command.set(new TextEncoder().encode(value), at);
  view.setUint32(0, 0x19, true);
  view.setUint32(4, command.length, true);
  text(8, name);
  const sizes = [0x100000 + offset, Math.ceil(size / PAGE) * PAGE, offset, size];
  sizes.forEach((value, i) => view.setBigUint64(24 + 8 * i, BigInt(value), true));
  if (section !== undefined) {
    view.setUint32(64, 1, true);
    text(72, section);
    view.setBigUint64(72 + 40, BigInt(sectionSize), true);
    view.setUint32(72 + 48, offset, true);
  }
  return command;
}

/** A signature of version 0x20400, which names the first segment as code. */
function sign(file: Uint8Array, limit: number, pages: number): void {
  const view = new DataView(file.buffer, limit);
  const big = (at: number, values: number[]) =>
    values.forEach((value, i) => view.setUint32(at + 4 * i, value));
  const length = file.length - limit;
  big(0, [0xfade0cc0, length, 1, 0, 20]);
  big(20, [0xfade0c02, length - 20, 0x20400, 2, 90, 88, 0, pages, limit]);
  file.set([32, 2, 0, 12], limit + 20 + 36);
  view.setBigUint64(20 + 72, BigInt(readMacho(file).segments[0]!.size));
  for (let i = 0; i < pages; i++) {
    const page = file.subarray(i * PAGE, Math.min((i + 1) * PAGE, limit));
    file.set(createHash("sha256").update(page).digest(), limit + 110 + 32 * i);
  }
}

function numbers(values: number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => view.setUint32(4 * i, value, true));
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const text: Part = { name: "__TEXT", content: new Uint8Array(PAGE + 5).fill(7) };
const payload: Part = { name: PAYLOAD_SEGMENT, content: PROGRAM, section: PAYLOAD_NAME };
const arm64 = () => macho([text, payload], STRINGS, true);

function marked(): Uint8Array {
  const mark = joined([new TextEncoder().encode(PAYLOAD_MARK), numbers([1, PROGRAM.length, 0])]);
  return joined([STRINGS, mark, PROGRAM]);
}
const x64 = () => macho([text], marked(), false);

Deno.test("payloadOf() finds the program in its segment and behind its mark", () => {
  for (const file of [arm64(), x64()]) {
    assert.deepEqual(payloadOf(file).content, PROGRAM);
    assert.deepEqual(machoProblems(file), []);
  }
});

Deno.test("cutMacho() leaves what the program was embedded into, for arm64", () => {
  const cut = cutMacho(arm64());
  const bare = macho([text], STRINGS, true);
  const [facts, wanted] = [readMacho(cut), readMacho(bare)];
  // The signature stays, and is larger than that of the bare file.
  const { size } = facts.segments.at(-1)!;
  assert.equal(size, readMacho(arm64()).segments.at(-1)!.size);
  assert.deepEqual(facts.segments, [wanted.segments[0], { ...wanted.segments[1], size }]);
  assert.deepEqual(facts.linkedit.map(({ offset }) => offset), [0x2000, 0x2008]);
  assert.equal(facts.commandsEnd, wanted.commandsEnd);
  assert.deepEqual(cut.subarray(PAGE, 2 * PAGE), bare.subarray(PAGE, 2 * PAGE));
  assert.throws(() => payloadOf(cut), /no embedded program/);
});

Deno.test("cutMacho() leaves what the program was embedded into, for x64", () => {
  assert.deepEqual(cutMacho(x64()), macho([text], STRINGS, false));
});

Deno.test("cutMacho() refuses a file without a program", () => {
  assert.throws(() => cutMacho(macho([text], STRINGS, false)), /no embedded program/);
  assert.throws(() => cutMacho(new Uint8Array(100)), /not a 64-bit Mach-O file/);
});

Deno.test("machoProblems() finds a changed byte, a cut file and a missing signature", () => {
  const changed = arm64();
  changed[PAGE + 1]! ^= 1;
  assert.deepEqual(machoProblems(changed), [
    "code signature: the hash of page 1 is not that of the file",
  ]);
  assert.match(machoProblems(arm64().slice(0, -1)).join(), /__LINKEDIT ends after the file/);
  const unsigned = x64();
  unsigned.set(numbers([0x0100000c]), 4);
  assert.deepEqual(machoProblems(unsigned), ["there is no code signature"]);
});

Deno.test("machoProblems() finds a signature over another length", () => {
  const file = arm64();
  const { offset } = readMacho(file).linkedit.find(({ what }) => what === "code signature")!;
  new DataView(file.buffer).setUint32(offset + 20 + 32, offset - 1);
  assert.match(machoProblems(file).join(), /it does not cover the file up to itself/);
});
