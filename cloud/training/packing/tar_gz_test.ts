import assert from "node:assert/strict";
import { join } from "node:path";
import { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import { unpack } from "../../../shared/transfer/archive/unpack.ts";
import { tarGz } from "./tar_gz.ts";

const never = new AbortController().signal;

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-tar-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Files below a folder with their texts, folders with a slash. */
async function tree(folder: string, prefix = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) Object.assign(found, { [`${prefix}${name}/`]: "" });
    if (isDirectory) Object.assign(found, await tree(path, `${prefix}${name}/`));
    else found[prefix + name] = await Deno.readTextFile(path);
  }
  return found;
}

Deno.test("tarGz() packs what machines unpack to the same, without links and what is left out", () =>
  withFolder(async (folder) => {
    const source = join(folder, "source");
    const long = "a".repeat(90);
    const deep = `${long}/${long}/${long}`;
    await Deno.mkdir(join(source, deep), { recursive: true });
    await Deno.mkdir(join(source, "empty"));
    await Deno.mkdir(join(source, "tmp"));
    const large = "0123456789abcdef".repeat(60_000);
    const texts = {
      "empty.txt": "",
      "one.txt": "1",
      "full.txt": "x".repeat(512),
      "ä ö.txt": "umlauts",
      [`${deep}/deep.txt`]: "deep",
      "large.bin": large,
    };
    for (const [path, text] of Object.entries(texts)) {
      await Deno.writeTextFile(join(source, path), text);
    }
    await Deno.writeTextFile(join(source, "tmp", "x"), "x");
    await Deno.symlink("/etc/hostname", join(source, "link"));

    const archive = join(folder, "archive.tar.gz");
    await Deno.writeFile(archive, ReadableStream.from(tarGz(source, (name) => name === "tmp")));
    const into = join(folder, "into");
    await Deno.mkdir(into);
    const space = new DiskSpace(0, () => Promise.resolve(Infinity));
    await unpack({ archive, into, space, signal: never });
    assert.deepEqual(await tree(into), {
      ...texts,
      "empty/": "",
      [`${long}/`]: "",
      [`${long}/${long}/`]: "",
      [`${deep}/`]: "",
    });
    const listed = await new Deno.Command("tar", { args: ["-tzf", archive] }).output();
    assert.equal(listed.code, 0, "another program reads it, too");
  }));

Deno.test({
  name: "tarGz() leaves no file open when nobody reads on",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      const path = join(folder, "noise");
      for (let n = 0; n < 64; n++) {
        await Deno.writeFile(path, crypto.getRandomValues(new Uint8Array(65_536)), {
          append: true,
        });
      }
      for await (const piece of tarGz(folder, () => false)) {
        assert.ok(piece.length > 0);
        break;
      }
      const open = [...Deno.readDirSync("/proc/self/fd")]
        .map(({ name }) => {
          try {
            return Deno.readLinkSync(`/proc/self/fd/${name}`);
          } catch {
            return "";
          }
        });
      assert.equal(open.includes(path), false);
    }),
});
