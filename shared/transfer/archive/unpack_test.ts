import assert from "node:assert/strict";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { randomBytes, sha256Of, withFolder } from "../download/testing.ts";
import { noSmallDisks, withSmallDisk } from "../../test_tools/small_disk.ts";
import { ARCHIVE_LIMITS } from "./archive_policy.ts";
import { DiskSpace } from "../download/disk_space.ts";
import { TransferError } from "../download/transfer_error.ts";
import { tarGzOf, tarOf, type TestEntry, treeOf } from "./testing.ts";
import { unpack, type UnpackOptions } from "./unpack.ts";

const isWindows = Deno.build.os === "windows";
const space = new DiskSpace(0, () => Promise.resolve(Infinity));
const never = new AbortController().signal;

/** Unpacks bytes in a folder with something valuable next to it. */
function withUnpacked(
  bytes: Uint8Array,
  test: (into: string, unpacking: ReturnType<typeof unpack>) => Promise<void>,
  options: Partial<UnpackOptions> = {},
): Promise<void> {
  return withFolder(async (folder) => {
    const archive = join(folder, "archive.tar.gz");
    const into = join(folder, "into");
    await Deno.writeFile(archive, bytes);
    await Deno.writeTextFile(join(folder, "beside"), "untouched");
    await Deno.mkdir(into);
    const unpacking = unpack({ archive, into, space, signal: never, ...options });
    unpacking.catch(() => {}); // the test looks at it
    await test(into, unpacking);
    await unpacking.catch(() => {});
    assert.equal(await Deno.readTextFile(join(folder, "beside")), "untouched");
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "archive.tar.gz",
      "beside",
      "into",
    ]);
  });
}

Deno.test("unpack() gives files, folders, links, modes and times, and the archive's checksum", () => {
  const large = randomBytes(3_000_000);
  const bytes = tarGzOf([
    { path: "./", type: "Directory" },
    { path: "./bin/", type: "Directory", mode: 0o700 },
    { path: "./bin/run", content: "#!/bin/sh\n", mode: 0o755 },
    { path: "deep/er/model.bin", content: large },
    { path: "empty" },
    { path: "twice", content: "first" },
    { path: "twice", content: "second" },
    { path: "hard", type: "Link", linkpath: "bin/run" },
    { path: "bin/go", type: "SymbolicLink", linkpath: "run" },
    { path: "nothing", type: "SymbolicLink", linkpath: "deep/not/there" },
  ]);
  return withUnpacked(bytes, async (into, unpacking) => {
    assert.deepEqual(await unpacking, { sha256: sha256Of(bytes), bytes: bytes.length });
    assert.deepEqual(await treeOf(into), [
      "bin/",
      "bin/go -> run",
      "bin/run",
      "deep/",
      "deep/er/",
      "deep/er/model.bin",
      "empty",
      "hard",
      "nothing -> deep/not/there",
      "twice",
    ]);
    assert.deepEqual(await Deno.readFile(join(into, "deep/er/model.bin")), large);
    assert.equal(await Deno.readTextFile(join(into, "twice")), "second");
    assert.equal(await Deno.readTextFile(join(into, "hard")), "#!/bin/sh\n");
    const { mode, mtime } = await Deno.stat(join(into, "bin/run"));
    assert.deepEqual(mtime, new Date("2026-01-02T03:04:05Z"));
    if (!isWindows) assert.equal(mode! & 0o777, 0o755);
  });
});

Deno.test({
  name: "unpack() drops setuid, setgid and write bits of others",
  ignore: isWindows,
  fn: () =>
    withUnpacked(
      tarGzOf([{ path: "root", mode: 0o6777, content: "x" }]),
      async (into, unpacking) => {
        await unpacking;
        assert.equal((await Deno.stat(join(into, "root"))).mode! & 0o7777, 0o755);
      },
    ),
});

const bad: [what: string, entries: TestEntry[], why: RegExp][] = [
  ["an absolute path", [{ path: "/tmp/evil", content: "x" }], /is absolute/],
  ["a path with ..", [{ path: "../beside", content: "x" }], /could leave its folder/],
  ["a path with .. inside", [{ path: "a/../../beside", content: "x" }], /could leave/],
  ["a link to the outside", [{ path: "x", type: "SymbolicLink", linkpath: "../beside" }], /out of/],
  ["an absolute link", [{ path: "x", type: "SymbolicLink", linkpath: "/etc" }], /is absolute/],
  ["a file through a link", [
    { path: "x", type: "SymbolicLink", linkpath: "." },
    { path: "x/file", content: "y" },
  ], /two different kinds/],
  ["a link in place of a file", [
    { path: "x", content: "y" },
    { path: "x", type: "SymbolicLink", linkpath: "z" },
  ], /two different kinds/],
  ["a file below a file", [{ path: "x", content: "y" }, { path: "x/y", content: "z" }], /two/],
  ["a file in place of a folder", [{ path: "x/y" }, { path: "x" }], /folder in it is also a file/],
  ["a hard link to the outside", [{ path: "x", type: "Link", linkpath: "../beside" }], /leave/],
  ["a hard link to no file of it", [{ path: "x", type: "Link", linkpath: "etc" }], /no file/],
  ["a hard link to a link", [
    { path: "s", type: "SymbolicLink", linkpath: "t" },
    { path: "x", type: "Link", linkpath: "s" },
  ], /no file/],
  ["a device", [{ path: "null", type: "CharacterDevice" }], /kind CharacterDevice/],
  ["a disk", [{ path: "sda", type: "BlockDevice" }], /kind BlockDevice/],
  ["a pipe", [{ path: "pipe", type: "FIFO" }], /kind FIFO/],
  ["a header without end", [
    { path: "h", type: "ExtendedHeader", content: new Uint8Array(1_100_000) },
    { path: "x" },
  ], /header in it is too long/],
];
for (const [what, entries, why] of bad) {
  Deno.test(`unpack() refuses ${what}`, () =>
    withUnpacked(tarGzOf(entries), async (_into, unpacking) => {
      await assert.rejects(unpacking, (error) => {
        assert.ok(error instanceof TransferError, String(error));
        assert.equal(error.kind, "refused", error.message);
        assert.match(error.message, why);
        return true;
      });
    }));
}

const whole = tarGzOf([{ path: "a", content: randomBytes(100_000) }, { path: "b", content: "b" }]);
const cutTar = tarOf([{ path: "a", content: "x".repeat(2_000) }]).subarray(0, 1_000);
const unreadable: [what: string, bytes: Uint8Array, why: RegExp][] = [
  ["nothing", new Uint8Array(), /no whole/],
  ["text", new TextEncoder().encode("<html>not found</html>"), /no whole gzip/],
  ["a cut gzip", whole.subarray(0, 50_000), /no whole gzip/],
  ["a gzip without its end", whole.subarray(0, whole.length - 4), /no whole gzip/],
  ["a changed byte", whole.with(40_000, whole[40_000]! ^ 0xff), /no whole/],
  ["random bytes packed", gzipSync(randomBytes(5_000)), /no whole tar/],
  ["a cut tar", gzipSync(cutTar), /no whole tar/],
  ["no entry", gzipSync(new Uint8Array(0)), /no whole tar/],
];
for (const [what, bytes, why] of unreadable) {
  Deno.test(`unpack() refuses what is no archive: ${what}`, () =>
    withUnpacked(bytes, async (_into, unpacking) => {
      await assert.rejects(unpacking, (error) => {
        assert.ok(error instanceof TransferError, String(error));
        assert.equal(error.kind, "refused", error.message);
        assert.match(error.message, why);
        return true;
      });
    }));
}

Deno.test("unpack() refuses an archive with more entries than allowed", () =>
  withUnpacked(
    tarGzOf(Array.from({ length: 11 }, (_, n) => ({ path: `f${n}` }))),
    async (_into, unpacking) => {
      await assert.rejects(unpacking, /more than 10 entries/);
    },
    { limits: { ...ARCHIVE_LIMITS, entries: 10 } },
  ));

Deno.test("unpack() counts the folders that paths imply as entries", () =>
  withUnpacked(
    tarGzOf([{ path: `${"d/".repeat(20)}f` }]),
    async (_into, unpacking) => {
      await assert.rejects(unpacking, /more than 10 entries/);
    },
    { limits: { ...ARCHIVE_LIMITS, entries: 10 } },
  ));

Deno.test("unpack() stops at a bomb before it fills the disk", () => {
  const bomb = tarGzOf([{ path: "zeros", content: new Uint8Array(30_000_000) }]);
  assert.ok(bomb.length < 1_000_000);
  return withUnpacked(bomb, async (into, unpacking) => {
    await assert.rejects(unpacking, /more than 20 times as large as packed/);
    assert.ok((await Deno.stat(join(into, "zeros"))).size < 10_000_000);
  }, { limits: { ...ARCHIVE_LIMITS, ratio: 20, ratioFromBytes: 1_000_000 } });
});

Deno.test("unpack() refuses an archive that is larger than allowed", () =>
  withUnpacked(
    tarGzOf([{ path: "a", content: randomBytes(3_000_000) }]),
    async (_into, unpacking) => {
      await assert.rejects(unpacking, /larger than 1000000 bytes/);
    },
    { limits: { ...ARCHIVE_LIMITS, bytes: 1_000_000 } },
  ));

Deno.test("unpack() ends when its signal aborts", () => {
  const stop = new AbortController();
  stop.abort(new Error("the test ends it"));
  return withUnpacked(whole, async (_into, unpacking) => {
    await assert.rejects(unpacking, /the test ends it/);
  }, { signal: stop.signal });
});

Deno.test({
  name: "unpack() says that the disk is full when it is",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withFolder(async (folder) => {
      const archive = join(folder, "archive.tar.gz");
      const into = join(folder, "into");
      await Deno.writeFile(archive, tarGzOf([{ path: "a", content: randomBytes(500_000) }]));
      await Deno.mkdir(into);
      await withSmallDisk(into, 200, async () => {
        await assert.rejects(unpack({ archive, into, space, signal: never }), (error) => {
          assert.ok(error instanceof TransferError);
          assert.equal(error.kind, "no-room");
          assert.match(error.message, /the disk is full; free some space/);
          return true;
        });
      });
    }),
});
