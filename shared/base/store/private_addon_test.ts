import { deepEqual, equal, throws } from "node:assert/strict";
import { join } from "node:path";
import { FileError } from "../files/fs_error.ts";
import { privateAddon } from "./private_addon.ts";

const isWindows = Deno.build.os === "windows";

interface Folders {
  /** A file that stands for the addon inside the binary. */
  embedded: string;
  /** Where the database is. */
  folder: string;
}

async function withFolders(test: (folders: Folders) => void): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "private-addon-" });
  try {
    const embedded = join(root, "addon.node");
    const folder = join(root, "data");
    await Deno.mkdir(folder);
    await Deno.writeFile(embedded, crypto.getRandomValues(new Uint8Array(60_000)));
    await Deno.writeFile(embedded, new Uint8Array(60_000).fill(7), { append: true });
    test({ embedded, folder });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Expects the same bytes, for this user only, and no other file. */
function assertCopied(path: string, { embedded, folder }: Folders): void {
  equal(path, join(folder, "addon.node"));
  deepEqual(Deno.readFileSync(path), Deno.readFileSync(embedded));
  const { isFile, mode } = Deno.lstatSync(path);
  equal(isFile, true);
  if (!isWindows) equal(mode! & 0o777, 0o600);
  deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["addon.node"]);
}

Deno.test("privateAddon() makes a private copy and leaves it when it is the same", () =>
  withFolders((folders) => {
    const path = privateAddon(folders.embedded, folders.folder);
    assertCopied(path, folders);
    const { ino } = Deno.statSync(path);
    privateAddon(folders.embedded, folders.folder);
    equal(Deno.statSync(path).ino, ino);
  }));

Deno.test("privateAddon() replaces a copy that differs", () =>
  withFolders((folders) => {
    const path = join(folders.folder, "addon.node");
    const bytes = Deno.readFileSync(folders.embedded);
    const others = [
      new Uint8Array(),
      bytes.subarray(0, 70_000),
      new Uint8Array([...bytes, 1]),
      bytes.with(bytes.length - 1, 8),
    ];
    for (const other of others) {
      Deno.writeFileSync(path, other, { mode: 0o600 });
      assertCopied(privateAddon(folders.embedded, folders.folder), folders);
    }
  }));

Deno.test({
  name: "privateAddon() does not trust a copy that others can change",
  ignore: isWindows,
  fn: () =>
    withFolders((folders) => {
      const path = join(folders.folder, "addon.node");
      Deno.copyFileSync(folders.embedded, path);
      Deno.chmodSync(path, 0o666);
      assertCopied(privateAddon(folders.embedded, folders.folder), folders);
      Deno.removeSync(path);
      Deno.symlinkSync(folders.embedded, path);
      assertCopied(privateAddon(folders.embedded, folders.folder), folders);
    }),
});

Deno.test({
  name: "privateAddon() does not trust a copy of another user",
  ignore: isWindows || Deno.uid() !== 0,
  fn: () =>
    withFolders((folders) => {
      const path = privateAddon(folders.embedded, folders.folder);
      Deno.chownSync(path, 65534, 65534);
      assertCopied(privateAddon(folders.embedded, folders.folder), folders);
      equal(Deno.statSync(path).uid, 0);
    }),
});

Deno.test("privateAddon() says what it cannot write", () =>
  withFolders(({ embedded, folder }) => {
    throws(() => privateAddon(embedded, join(folder, "missing")), FileError);
  }));
