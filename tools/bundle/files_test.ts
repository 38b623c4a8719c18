import assert from "node:assert/strict";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { copyAssets, copyRenamed, QUICK, SMALL } from "./files.ts";

Deno.test("copyAssets() copies folders and leaves out tests and TypeScript", async () => {
  const root = await Deno.makeTempDir({ prefix: "copy-assets-" });
  try {
    const from = join(root, "from");
    const to = join(root, "to");
    await Deno.mkdir(join(from, "icons"), { recursive: true });
    await Deno.mkdir(to);
    const names = [
      "page.html",
      "format.js",
      "format.d.ts",
      "format_test.ts",
      "format_test.js",
      "a.ts",
    ];
    for (const name of [...names, "icons/a.svg", "icons/b_test.ts"]) {
      await Deno.writeTextFile(join(from, name), name);
    }
    await Deno.writeTextFile(join(to, "page.html"), "older");

    await copyAssets(from, to);

    const copied = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assert.deepEqual(copied(to), ["format.js", "icons", "page.html"]);
    assert.deepEqual(copied(join(to, "icons")), ["a.svg"]);
    assert.equal(await Deno.readTextFile(join(to, "page.html")), "page.html");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("copyAssets() compresses again what is shipped, and only that", async () => {
  const root = await Deno.makeTempDir({ prefix: "copy-assets-" });
  try {
    const text = await Deno.readFile(import.meta.filename!);
    const quick = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
    await Deno.mkdir(`${root}/from`);
    await Deno.writeFile(`${root}/from/a.js.br`, quick);
    await copyAssets(`${root}/from`, `${root}/run`, QUICK);
    await copyAssets(`${root}/from`, `${root}/shipped`, SMALL);
    assert.deepEqual(await Deno.readFile(`${root}/run/a.js.br`), new Uint8Array(quick));
    const shipped = await Deno.readFile(`${root}/shipped/a.js.br`);
    assert.ok(shipped.length < quick.length, `${shipped.length} of ${quick.length} bytes`);
    assert.deepEqual(new Uint8Array(brotliDecompressSync(shipped)), text);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("copyRenamed() copies what is named, readable for everybody", async () => {
  const root = await Deno.makeTempDir({ prefix: "copy-renamed-" });
  try {
    await Deno.writeTextFile(`${root}/a.js`, "a", { mode: 0o700 });
    await Deno.writeTextFile(`${root}/b.js`, "b");
    await copyRenamed(root, `${root}/to`, { "a.js": "a.txt", "b.js": "b.br" });
    const copied = await Array.fromAsync(Deno.readDir(`${root}/to`), ({ name }) => name);
    assert.deepEqual(copied.sort(), ["a.txt", "b.br"]);
    const packed = await Deno.readFile(`${root}/to/b.br`);
    assert.equal(new TextDecoder().decode(brotliDecompressSync(packed)), "b");
    if (Deno.build.os !== "windows") {
      assert.equal((await Deno.stat(`${root}/to/a.txt`)).mode! & 0o777, 0o644);
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
