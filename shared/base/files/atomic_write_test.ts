import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { join } from "node:path";
import { runFaultChild } from "../faults/fault_child_testing.ts";
import { noSmallDisks, withSmallDisk } from "../../test_tools/small_disk.ts";
import {
  removeStaleTemps,
  replaceSymlink,
  writeFileAtomic,
  writeFileAtomicSync,
} from "./atomic_write.ts";
import { FileError } from "./fs_error.ts";
import { readIfExists } from "./read_file.ts";

const isWindows = Deno.build.os === "windows";
const here = import.meta.dirname ?? ".";

async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "atomic-write-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("writeFileAtomic() replaces the content and leaves no other file when all is well", () =>
  withFolder(async (folder) => {
    const path = join(folder, "state.json");
    await writeFileAtomic(path, "old");
    await writeFileAtomic(path, new TextEncoder().encode("new"));
    equal(await Deno.readTextFile(path), "new");
    deepEqual(names(folder), ["state.json"]);
  }));

Deno.test("writeFileAtomicSync() replaces the content, or leaves all as it was when it fails", () =>
  withFolder(async (folder) => {
    const path = join(folder, "addon");
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    writeFileAtomicSync(path, new Uint8Array(3));
    writeFileAtomicSync(path, bytes, { mode: 0o640 });
    deepEqual(await Deno.readFile(path), bytes);
    if (!isWindows) equal((await Deno.stat(path)).mode! & 0o777, 0o640);
    await Deno.mkdir(join(folder, "taken", "inside"), { recursive: true });
    throws(
      () => writeFileAtomicSync(join(folder, "taken"), bytes),
      (error) => error instanceof FileError && error.message.startsWith("cannot write "),
    );
    deepEqual(names(folder), ["addon", "taken"]);
  }));

Deno.test({
  name: "writeFileAtomic() sets exactly the given mode when the umask is strict",
  ignore: isWindows,
  fn: () =>
    withFolder(async (folder) => {
      const old = Deno.umask(0o077);
      try {
        await writeFileAtomic(join(folder, "secret"), "x");
        await writeFileAtomic(join(folder, "program"), "x", { mode: 0o755 });
      } finally {
        Deno.umask(old);
      }
      equal((await Deno.stat(join(folder, "secret"))).mode! & 0o777, 0o600);
      equal((await Deno.stat(join(folder, "program"))).mode! & 0o777, 0o755);
    }),
});

Deno.test("writeFileAtomic() keeps each content whole when many write at once", () =>
  withFolder(async (folder) => {
    const path = join(folder, "shared");
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
    await Promise.all(texts.map((text) => writeFileAtomic(path, text)));
    ok(texts.includes(await Deno.readTextFile(path)));
    deepEqual(names(folder), ["shared"]);
  }));

Deno.test("writeFileAtomic() says path and reason in one line when the folder is missing", () =>
  withFolder(async (folder) => {
    const path = join(folder, "missing", "state.json");
    await rejects(writeFileAtomic(path, "x"), (error) => {
      ok(error instanceof FileError);
      equal(error.code, "ENOENT");
      equal(error.message, `cannot write ${path}: it or its folder does not exist (ENOENT)`);
      return true;
    });
  }));

Deno.test("writeFileAtomic() removes its temporary file and keeps the rest when it fails", () =>
  withFolder(async (folder) => {
    // A folder that is not empty cannot be replaced by a file.
    await Deno.mkdir(join(folder, "taken", "inside"), { recursive: true });
    await rejects(writeFileAtomic(join(folder, "taken"), "x"), FileError);
    deepEqual(names(folder), ["taken"]);
  }));

const atEachPoint: [faultPoint: string, content: string][] = [
  ["files.write.before-fsync", "old"],
  ["files.write.before-rename", "old"],
  ["files.write.after-rename", "new".repeat(100_000)],
];
for (const [faultPoint, expected] of atEachPoint) {
  Deno.test(`writeFileAtomic() leaves a whole content when killed at ${faultPoint}`, () =>
    withFolder(async (folder) => {
      const path = join(folder, "state.json");
      await writeFileAtomic(path, "old");
      const source = `
        import { writeFileAtomic } from "./atomic_write.ts";
        await writeFileAtomic(Deno.args[0], "new".repeat(100_000));
        console.log("survived");`;
      const child = await runFaultChild(source, { folder: here, faultPoint, args: [path] });
      deepEqual([child.signal, child.stdout], ["SIGKILL", ""], child.stderr);
      equal(await Deno.readTextFile(path), expected);
      await removeStaleTemps(folder);
      deepEqual(names(folder), ["state.json"]);
    }));
}

Deno.test("removeStaleTemps() removes only leftovers of this module", () =>
  withFolder(async (folder) => {
    const leftover = ".state.json.machine-tmp-0123456789abcdef";
    const others = [".state.json.machine-tmp-xyz", ".hidden", "state.json"];
    for (const name of [leftover, ...others]) await Deno.writeTextFile(join(folder, name), "x");
    deepEqual(await removeStaleTemps(folder), [leftover]);
    deepEqual(names(folder), others.toSorted());
    deepEqual(await removeStaleTemps(join(folder, "missing")), []);
  }));

Deno.test({
  name: "replaceSymlink() replaces a link and is never half done when killed",
  ignore: isWindows,
  fn: () =>
    withFolder(async (folder) => {
      const link = join(folder, "current");
      await replaceSymlink("v1", link);
      equal(await Deno.readLink(link), "v1");
      await replaceSymlink("v2", link);
      equal(await Deno.readLink(link), "v2");
      for (
        const [faultPoint, target] of [
          ["files.symlink.before-rename", "v2"],
          ["files.symlink.after-rename", "v3"],
        ] as const
      ) {
        const source = `
          import { replaceSymlink } from "./atomic_write.ts";
          await replaceSymlink("v3", Deno.args[0]);`;
        const child = await runFaultChild(source, { folder: here, faultPoint, args: [link] });
        equal(child.signal, "SIGKILL", child.stderr);
        equal(await Deno.readLink(link), target);
      }
      await removeStaleTemps(folder);
      deepEqual(names(folder), ["current"]);
    }),
});

Deno.test("readIfExists() gives undefined when there is no file and an error when it is a folder", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(join(folder, "a"), "text");
    equal(await readIfExists(join(folder, "a")), "text");
    equal(await readIfExists(join(folder, "b")), undefined);
    await rejects(readIfExists(folder), /^FileError: cannot read .*folder/);
  }));

Deno.test({
  name: "writeFileAtomic() keeps the old content and says what to do when the disk is full",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withFolder((folder) =>
      withSmallDisk(folder, 64, async () => {
        const path = join(folder, "state.json");
        await writeFileAtomic(path, "old");
        await rejects(writeFileAtomic(path, "x".repeat(1_000_000)), {
          name: "FileError",
          message: `cannot write ${path}: the disk is full; free some space (ENOSPC)`,
        });
        equal(await Deno.readTextFile(path), "old");
        deepEqual(names(folder), ["state.json"]);
      })
    ),
});

Deno.test({
  name: "writeFileAtomic() says what to do when the file system is read-only",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withFolder((folder) =>
      withSmallDisk(folder, 64, async ({ remountReadOnly }) => {
        const path = join(folder, "state.json");
        await writeFileAtomic(path, "old");
        await remountReadOnly();
        await rejects(writeFileAtomic(path, "new"), /the file system is read-only; mount it/);
        equal(await Deno.readTextFile(path), "old");
      })
    ),
});
