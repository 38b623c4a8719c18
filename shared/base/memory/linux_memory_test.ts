import assert from "node:assert/strict";
import { fileMappings, LinuxMemory } from "./linux_memory.ts";

const MIB = 1024 * 1024;

/** An entry of smaps, as far as it is read. */
const entry = (head: string, anonymousKb = 0, swapKb = 0) =>
  `${head}
Size:               2048 kB
Rss:                1024 kB
Anonymous:      ${anonymousKb} kB
LazyFree:              0 kB
Swap:           ${swapKb} kB
SwapPss:               0 kB
VmFlags: rd mr mw me
`;

Deno.test("fileMappings() names what is read or run of files, in all its size", () => {
  const smaps = entry("555500000000-555500200000 r--p 00000000 fe:00 123       /opt/a program") +
    entry("555500200000-555500500000 r-xp 00200000 fe:00 123                   /opt/a program");
  assert.deepEqual(fileMappings(smaps), [
    { address: 0x5555_0000_0000n, bytes: 0x20_0000n },
    { address: 0x5555_0020_0000n, bytes: 0x30_0000n },
  ]);
});

for (
  const [what, smaps] of [
    ["can be written to", entry("1000000-1200000 rw-p 00000000 fe:00 123  /opt/program")],
    [
      "holds pages that relocations changed",
      entry("1000000-1200000 r--p 00000000 fe:00 123  /opt/program", 4),
    ],
    [
      "has such pages in swap",
      entry("1000000-1200000 r--p 00000000 fe:00 123  /opt/program", 0, 4),
    ],
    ["may hold relocations", entry("1000000-1200000 r--p 00200000 fe:00 123  /opt/program")],
    ["is shared", entry("1000000-1200000 r--s 00000000 fe:00 123  /var/cache/index")],
    ["is no file", entry("1000000-1200000 r-xp 00000000 00:00 0  [vdso]")],
    ["is small", entry("1000000-1010000 r-xp 00000000 fe:00 123  /lib/libm.so.6")],
    ["tells not what it holds", "1000000-1200000 r-xp 00000000 fe:00 123  /opt/program\n"],
  ] as const
) {
  Deno.test(`fileMappings() leaves out what ${what}`, () => {
    assert.deepEqual(fileMappings(smaps), []);
  });
}

Deno.test({
  name: "unmapFiles() takes the runtime's pages out of this process, which goes on",
  ignore: Deno.build.os !== "linux",
  fn() {
    const memory = LinuxMemory.open();
    assert.ok(memory);
    const mappings = memory.ownFileMappings();
    const before = fileBytes();
    memory.trimHeap();
    memory.unmapFiles(mappings);
    const after = fileBytes();
    assert.ok(after < before - 4 * MIB, `${before} -> ${after}`);
    assert.ok(memory.anonymousBytes() > MIB);
    assert.equal(JSON.parse(`[${"1,".repeat(1000)}1]`).length, 1001);
  },
});

function fileBytes(): number {
  const status = Deno.readTextFileSync("/proc/self/status");
  return Number(/^RssFile:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
