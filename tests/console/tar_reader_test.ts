import assert from "node:assert/strict";
import { basename } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { readArchive } from "../../shared/commands/upload/archive.ts";
import { type TestEntry, writeArchive } from "../../shared/commands/upload/archive_testing.ts";
import { readTarGz } from "../../console/api/tar_reader.ts";

async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-console-tar-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const fileOf = async (path: string) => new File([await Deno.readFile(path)], basename(path));

Deno.test("readTarGz() sees the same in an archive as the command line does", () =>
  inFolder(async (folder) => {
    const long = `${"a-rather-long-folder/".repeat(8)}program`;
    await Deno.mkdir(`${folder}/in/${long}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/in/meta.json`, '{"entrypoint":"run.sh"}');
    await Deno.writeTextFile(`${folder}/in/ünï.json`, '{"type":"object"}');
    await Deno.writeFile(`${folder}/in/run.sh`, new Uint8Array(3_000_000).fill(7));
    await Deno.writeTextFile(`${folder}/in/${long}`, "x");
    await Deno.symlink("run.sh", `${folder}/in/link`);
    for (const format of ["gnu", "pax", "ustar"]) {
      const path = `${folder}/${format}.tar.gz`;
      const args = [`--format=${format}`, "-czf", path, "-C", `${folder}/in`, "."];
      const { success, stderr } = await new Deno.Command("tar", { args }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      const wanted = ["ünï.json", "run.sh", "missing.json"];
      assert.deepEqual(
        await readTarGz(await fileOf(path), wanted),
        await readArchive(path, wanted),
        format,
      );
    }
  }));

const refused: [string, Record<string, TestEntry>, (bytes: Uint8Array) => Uint8Array, RegExp][] = [
  ["that is cut", { "run.sh": "x".repeat(2_000) }, (bytes) => bytes.subarray(0, 60), /whole gzip/],
  ["that is no gzip", { a: "x" }, gunzipSync, /no whole gzip file/],
  ["of what is no tar", {}, () => gzipSync(new Uint8Array(2_000).fill(65)), /no whole tar/],
  [
    "that ends within a file",
    { a: "x".repeat(2_000) },
    (bytes) => gzipSync(gunzipSync(bytes).subarray(0, 1_024)),
    /ends within a file/,
  ],
  ["with a path that leaves it", { "../a": "x" }, (bytes) => bytes, /"..\/a" leaves the archive/],
  ["that is empty", {}, (bytes) => bytes, /the archive is empty/],
];
for (const [what, entries, change, reason] of refused) {
  Deno.test(`readTarGz() refuses a file ${what}`, () =>
    inFolder(async (folder) => {
      const path = await writeArchive(folder, "m.tar.gz", entries);
      const file = new File([new Uint8Array(change(await Deno.readFile(path)))], "m.tar.gz");
      await assert.rejects(readTarGz(file), reason);
    }));
}
