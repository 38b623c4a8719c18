import assert from "node:assert/strict";
import { executableProblem, isScript } from "./executable.ts";

function header(...writes: [at: number, bytes: number[]][]): Uint8Array {
  const bytes = new Uint8Array(4_096);
  for (const [at, values] of writes) bytes.set(values, at);
  return bytes;
}

const elf = (machine: number, endian = 1) =>
  header([0, [0x7f, 0x45, 0x4c, 0x46, 2, endian]], [
    18,
    endian === 1 ? [machine, 0] : [0, machine],
  ]);
const pe = (machine: number[], at = 0x80) =>
  header([0, [0x4d, 0x5a]], [0x3c, [at & 0xff, at >> 8]], [at, [0x50, 0x45, 0, 0, ...machine]]);
const macho = (cpu: number[]) => header([0, [0xcf, 0xfa, 0xed, 0xfe, ...cpu]]);
const universal = header(
  [0, [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2]],
  [8, [1, 0, 0, 7]],
  [28, [1, 0, 0, 12]],
);
const javaClass = header([0, [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61]]);
const ARM64 = [0x64, 0xaa];
const AMD64 = [0x64, 0x86];

for (
  const [what, bytes, platform, problem] of [
    ["ELF for amd64", elf(0x3e), "linux/amd64", undefined],
    ["ELF for arm64", elf(0xb7), "linux/arm64", undefined],
    ["ELF for arm", elf(0x28), "linux/arm", undefined],
    ["ELF with the other byte order", elf(0x3e, 2), "linux/amd64", undefined],
    ["ELF for another processor", elf(0xb7), "linux/amd64", /another processor/],
    ["ELF on Windows", elf(0x3e), "windows/amd64", /for Linux, needed .* windows\/amd64/],
    ["ELF for a processor unknown here", elf(0xf7), "linux/sparc", undefined],
    ["PE for amd64", pe(AMD64), "windows/amd64", undefined],
    ["PE for arm64", pe(ARM64), "windows/arm64", undefined],
    ["PE for another processor", pe(ARM64), "windows/amd64", /another processor/],
    ["PE on Linux", pe(AMD64), "linux/amd64", /for Windows/],
    [
      "PE whose header is elsewhere",
      header([0, [0x4d, 0x5a]], [0x3c, [0xff, 0x7f]]),
      "windows/amd64",
      /no program/,
    ],
    ["MZ alone", header([0, [0x4d, 0x5a]]), "windows/amd64", /no program/],
    ["Mach-O for arm64", macho([12, 0, 0, 1]), "darwin/arm64", undefined],
    ["Mach-O for another processor", macho([7, 0, 0, 1]), "darwin/arm64", /another processor/],
    ["Mach-O on Linux", macho([7, 0, 0, 1]), "linux/amd64", /for macOS/],
    ["Mach-O for both, on amd64", universal, "darwin/amd64", undefined],
    ["Mach-O for both, on arm64", universal, "darwin/arm64", undefined],
    ["Java class", javaClass, "darwin/arm64", /no program/],
    ["text", new TextEncoder().encode("hello".repeat(50)), "linux/amd64", /no program/],
    ["beginning of an ELF", elf(0x3e).subarray(0, 20), "linux/amd64", /no program/],
    ["nothing", new Uint8Array(), "linux/amd64", /no program/],
  ] as [string, Uint8Array, string, RegExp | undefined][]
) {
  Deno.test(`executableProblem() ${problem ? "refuses" : "takes"} on ${platform}: ${what}`, () => {
    const found = executableProblem(Uint8Array.from([9, ...bytes]).subarray(1), platform);
    if (problem) assert.match(found ?? "", problem);
    else assert.equal(found, undefined);
  });
}

Deno.test("isScript() knows a script by its first two characters", () => {
  assert.equal(isScript(new TextEncoder().encode("#!/bin/sh")), true);
  assert.equal(isScript(new TextEncoder().encode("# comment")), false);
  assert.equal(isScript(new Uint8Array()), false);
});
