import assert from "node:assert/strict";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib";
import { loadStaticFiles, opensPage, serveStaticFile } from "./static_files.ts";

const TEXT = "export const answer = 42;\n";

async function withFiles(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(folder, "assets"));
    await Deno.writeTextFile(join(folder, "index.html"), "<!doctype html>");
    await Deno.writeTextFile(join(folder, "notes.xyz"), "not served");
    await Deno.writeFile(join(folder, "assets", "a-1234.js.br"), brotliCompressSync(TEXT));
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const asks = (headers: Record<string, string>) => (name: string) => headers[name];

Deno.test("loadStaticFiles() gives the files of known types by their path", () =>
  withFiles(async (folder) => {
    const files = await loadStaticFiles(folder);
    assert.deepEqual([...files.keys()].sort(), ["/", "/assets/a-1234.js"]);
    assert.deepEqual([...(await loadStaticFiles(join(folder, "none"))).keys()], []);
  }));

Deno.test("serveStaticFile() sends what the client takes, and always the same content", () =>
  withFiles(async (folder) => {
    const file = (await loadStaticFiles(folder)).get("/assets/a-1234.js");
    assert.ok(file);
    const brotli = await serveStaticFile(file, asks({ "accept-encoding": "gzip, deflate, br" }));
    assert.equal(brotli.headers.get("content-encoding"), "br");
    assert.equal(brotli.headers.get("vary"), "accept-encoding");
    assert.equal(brotli.headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.equal(brotliDecompressSync(await brotli.bytes()).toString(), TEXT);
    const gzip = await serveStaticFile(file, asks({ "accept-encoding": "gzip, br;q=0" }));
    assert.equal(gzip.headers.get("content-encoding"), "gzip");
    assert.equal(gunzipSync(await gzip.bytes()).toString(), TEXT);
    assert.equal(await file.gzipped?.(), await file.gzipped?.());
    const plain = await serveStaticFile(file, asks({}));
    assert.equal(plain.headers.get("content-encoding"), null);
    assert.equal(await plain.text(), TEXT);
  }));

Deno.test("serveStaticFile() lets browsers keep hashed files for good, and asks for the page", () =>
  withFiles(async (folder) => {
    const files = await loadStaticFiles(folder);
    const [page, script] = [files.get("/"), files.get("/assets/a-1234.js")];
    assert.ok(page && script);
    const first = await serveStaticFile(page, asks({}));
    assert.equal(first.headers.get("cache-control"), "no-cache");
    const etag = first.headers.get("etag") ?? "";
    assert.equal((await serveStaticFile(page, asks({ "if-none-match": etag }))).status, 304);
    const kept = await serveStaticFile(script, asks({}));
    assert.match(kept.headers.get("cache-control") ?? "", /immutable/);
  }));

Deno.test("opensPage() is for browsers that open an address, not for scripts and files", () => {
  const browser = asks({ accept: "text/html,application/xhtml+xml" });
  assert.equal(opensPage("/machines/x/logs", browser), true);
  assert.equal(opensPage("/assets/none-1234.js", browser), false);
  assert.equal(opensPage("/machines/x", asks({ accept: "*/*" })), false);
});
