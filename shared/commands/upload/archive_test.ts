import assert from "node:assert/strict";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { ArchiveError } from "../../registry/module_archive/archive.ts";
import { readArchive } from "./archive.ts";
import { parseMeta } from "../../registry/module_archive/meta.ts";
import { type TestEntry, writeArchive } from "./archive_testing.ts";

async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-archive-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readArchive() lists the files and reads meta.json", () =>
  inFolder(async (folder) => {
    const meta = '{"entrypoint":"run.sh"}';
    const path = await writeArchive(folder, "m.tar.gz", {
      "./": { type: "Directory" },
      "./meta.json": meta,
      "./bin/": { type: "Directory" },
      "./bin/run": "x".repeat(5_000),
      "lib/a/b.so": "",
      "lib/b.so": { type: "SymbolicLink", linkpath: "a/b.so" },
      "lib/c.so": { type: "SymbolicLink", linkpath: "../bin/run" },
      "sub/meta.json": "not this one",
    });
    const archive = await readArchive(path);
    assert.deepEqual([...archive.files].sort(), [
      "bin/run",
      "lib/a/b.so",
      "lib/b.so",
      "lib/c.so",
      "meta.json",
      "sub/meta.json",
    ]);
    assert.equal(archive.meta, meta);
  }));

Deno.test("readArchive() refuses what a machine would refuse", () =>
  inFolder(async (folder) => {
    const cases: [entries: Record<string, TestEntry>, reason: RegExp][] = [
      [{ "../x": "" }, /the path "\.\.\/x" leaves the archive; pack from inside/],
      [{ "a/../../x": "" }, /leaves the archive/],
      [{ "/etc/x": "" }, /leaves the archive/],
      [{ "C:\\x": "" }, /leaves the archive/],
      [
        { a: { type: "SymbolicLink", linkpath: "/usr/bin/python3" } },
        /"a" to "\/usr\/bin\/python3"/,
      ],
      [{ "a/b": { type: "SymbolicLink", linkpath: "../../x" } }, /leads out of the archive/],
      [{ a: { type: "Link", linkpath: "../x" } }, /leads out of the archive/],
      [{ a: { type: "CharacterDevice" } }, /type CharacterDevice; only files/],
      [{ "a/": { type: "Directory" } }, /the archive is empty/],
    ];
    for (const [entries, reason] of cases) {
      const path = await writeArchive(folder, "m.tar.gz", entries);
      await assert.rejects(readArchive(path), (error) => {
        assert.ok(error instanceof ArchiveError, String(error));
        assert.match(error.message, reason);
        return true;
      });
    }
  }));

Deno.test("readArchive() says that a file is no archive, is cut or is not there", () =>
  inFolder(async (folder) => {
    const whole = await writeArchive(folder, "m.tar.gz", { run: crypto.randomUUID().repeat(200) });
    const bytes = await Deno.readFile(whole);
    const write = async (name: string, content: Uint8Array) => {
      await Deno.writeFile(join(folder, name), content);
      return join(folder, name);
    };
    const cut = await write("cut.tar.gz", bytes.subarray(0, bytes.length - 20));
    const text = await write("text.tar.gz", new TextEncoder().encode("hello"));
    for (const path of [cut, text]) {
      await assert.rejects(readArchive(path), /cannot be used: it is no whole gzip file; make it/);
    }
    const noTar = await write("no.tar.gz", new Uint8Array(gzipSync("x".repeat(2_000))));
    const tar = gunzipSync(bytes);
    const cutTar = await write("cut.tar", new Uint8Array(gzipSync(tar.subarray(0, 1_000))));
    for (const path of [noTar, cutTar]) {
      await assert.rejects(readArchive(path), /cannot be used: it holds no whole tar \(TAR_/);
    }
    await assert.rejects(readArchive(join(folder, "none")), /cannot read the archive .*ENOENT/);
  }));

Deno.test("parseMeta() reads what it knows and names what is wrong", () => {
  const meta = parseMeta(
    "m.tar.gz",
    JSON.stringify({
      $schema: "x",
      module_id: "acme:m",
      url: "",
      models: [{ api: "rdk:component:sensor", model: "acme:m:one", markdown_link: "README.md" }],
      entrypoint: "run.sh",
      first_run: "setup.sh",
      build: { build: "make" },
    }),
  );
  assert.deepEqual(meta, {
    moduleId: "acme:m",
    url: undefined,
    description: undefined,
    entrypoint: "run.sh",
    firstRun: "setup.sh",
    models: [{ api: "rdk:component:sensor", model: "acme:m:one" }],
  });
  const cases: [text: string, reason: RegExp][] = [
    ["{", /m\.tar\.gz: meta\.json is no JSON/],
    ["[]", /must be a JSON object/],
    ['{"entrypoint":1}', /has a entrypoint that is no text: 1/],
    [`{"entrypoint":["${"x".repeat(500_000)}"]}`, /has a entrypoint that is no text: .{100}$/],
    ['{"models":{}}', /has models that are no list/],
    ['{"models":[{"api":"x"}]}', /has no api and model in models\[0\]/],
    [
      '{"models":[{"api":"x","model":"y","schema":5}]}',
      /models\[0\]\.schema that is neither a JSON Schema nor a file's path/,
    ],
  ];
  for (const [text, reason] of cases) {
    assert.throws(() => parseMeta("m.tar.gz", text), reason);
  }
});
