import assert from "node:assert/strict";
import { join } from "node:path";
import { StaticAssets } from "./static_assets.ts";

/** A folder with files next to it that nobody may see, and what is answered for a path. */
async function withAssets(
  body: (get: (path: string, init?: RequestInit) => Promise<Response>) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-static-" });
  try {
    const shared = join(folder, "shared");
    await Deno.mkdir(join(shared, "sub"), { recursive: true });
    await Deno.mkdir(join(folder, "shared-too"));
    await Deno.writeTextFile(join(folder, "secret.txt"), "secret");
    await Deno.writeTextFile(join(folder, "shared-too", "secret.txt"), "secret");
    await Deno.writeTextFile(join(shared, "index.html"), "<p>home");
    await Deno.writeTextFile(join(shared, "a b.JS"), "1");
    await Deno.writeTextFile(join(shared, "sub", "data"), "\x00\x01");
    await Deno.mkdir(join(shared, "page"));
    await Deno.writeTextFile(join(shared, "page", "index.html"), "<p>page");
    await Deno.writeTextFile(join(shared, ".env"), "secret");
    await Deno.symlink(join(folder, "secret.txt"), join(shared, "link.txt"));
    await Deno.symlink(join(folder, "shared-too"), join(shared, "out"));
    await Deno.symlink(join(shared, "sub"), join(shared, "inner"));
    const assets = await StaticAssets.open(shared);
    await body((path, init) => assets.answer(new Request(`http://localhost${path}`, init)));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("StaticAssets serve files with their type, and index.html for folders", async () => {
  await withAssets(async (get) => {
    const rows = [
      ["/static/", "text/html; charset=utf-8", "<p>home"],
      ["/static/index.html", "text/html; charset=utf-8", "<p>home"],
      ["/static/a%20b.JS", "text/javascript; charset=utf-8", "1"],
      ["/static//sub/data", "application/octet-stream", "\x00\x01"],
      ["/static/inner/data", "application/octet-stream", "\x00\x01"],
    ] as const;
    for (const [path, type, text] of rows) {
      const response = await get(path);
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get("content-type"), type, path);
      assert.equal(response.headers.get("x-content-type-options"), "nosniff");
      assert.equal(await response.text(), text, path);
    }
  });
});

Deno.test("StaticAssets send the name of a folder to where links of its page count from", async () => {
  await withAssets(async (get) => {
    const moved = await get("/static/page?a=1");
    assert.equal(moved.status, 301);
    assert.equal(moved.headers.get("location"), "/static/page/?a=1");
    const page = await get("/static/page/");
    assert.equal(await page.text(), "<p>page");
  });
});

Deno.test("StaticAssets give nothing that is not in the folder", async () => {
  await withAssets(async (get) => {
    const paths = [
      ...["missing", "sub", "sub/missing", "index.html/x", ".env", "link.txt", "out/secret.txt"],
      ...["%2e%2e/secret.txt", "..%2fsecret.txt", "sub/..%2f..%2fsecret.txt", "%5c..%5csecret.txt"],
      ...["%00", "%zz", "c:%5cwindows", "%2fetc%2fpasswd", "sub%2fdata", "../../etc/passwd"],
    ];
    for (const path of paths) {
      const response = await get(`/static/${path}`);
      assert.equal(response.status, 404, path);
      assert.equal(await response.text(), "not found\n", path);
    }
    assert.equal((await get("/static/index.html", { method: "POST" })).status, 405);
  });
});

Deno.test("StaticAssets send a file again only when it changed, and HEAD without it", async () => {
  await withAssets(async (get) => {
    const head = await get("/static/index.html", { method: "HEAD" });
    assert.equal(head.headers.get("content-length"), "7");
    assert.equal(await head.text(), "");
    const etag = head.headers.get("etag") ?? "";
    const again = await get("/static/index.html", { headers: { "if-none-match": etag } });
    assert.equal(again.status, 304);
    assert.equal(await again.text(), "");
  });
});

Deno.test("StaticAssets.open() says which folder is wrong and why", async () => {
  await assert.rejects(
    StaticAssets.open("/no/such"),
    /cannot serve static assets of \/no\/such: .*ENOENT/,
  );
  const file = await Deno.makeTempFile();
  try {
    await assert.rejects(StaticAssets.open(file), /ENOTDIR/);
  } finally {
    await Deno.remove(file);
  }
});
