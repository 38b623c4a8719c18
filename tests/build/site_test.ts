// The site of the documentation, as plain files: every link leads somewhere, nothing is fetched from
// elsewhere, and its search finds.
import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../../tools/programs.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { launchBrowser } from "../../shared/test_tools/browser.ts";

const SITE = join(ROOT, "dist", "site");
/** A site that does not lie at the top of its host. */
const BASE = "/machine/";
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  webp: "image/webp",
  woff2: "font/woff2",
};

const built = build();

async function build(): Promise<void> {
  const { code, stderr } = await new Deno.Command("make", {
    args: ["-C", ROOT, "site", `BASE=${BASE}`],
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

/** Serves files, and nothing for what is no file. */
function serve() {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const path = decodeURIComponent(pathname.slice(BASE.length));
    try {
      assert.ok(pathname.startsWith(BASE));
      const bytes = await Deno.readFile(join(SITE, path.replace(/(^|\/)$/, "$1index.html")));
      const type = TYPES[path.split(".").at(-1) ?? ""] ?? "text/html";
      return new Response(bytes, { headers: { "Content-Type": type } });
    } catch {
      return new Response("no such file", { status: 404 });
    }
  });
}

async function pages(folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(SITE, folder))) {
    const path = folder === "" ? name : `${folder}/${name}`;
    if (isDirectory) found.push(...await pages(path));
    else if (name.endsWith(".html") && name !== "404.html") found.push(path);
  }
  return found.sort();
}

Deno.test("every link of the site leads to a page, a heading or a file", async () => {
  await built;
  const texts = new Map<string, string>();
  for (const path of await pages()) texts.set(path, await Deno.readTextFile(join(SITE, path)));
  assert.ok(texts.size > 30, `${texts.size} pages`);
  const wrong: string[] = [];
  for (const [page, text] of texts) {
    if (/^v\d/.test(page)) continue; // A tag never changes.
    for (const [, raw = ""] of text.matchAll(/\s(?:href|src|srcset)="([^"]+)"/g)) {
      const url = new URL(raw.replaceAll("&amp;", "&"), `http://site${BASE}${page}`);
      if (url.host !== "site" || url.protocol === "mailto:") continue;
      const path = decodeURIComponent(url.pathname.slice(BASE.length))
        .replace(/(^|\/)$/, "$1index.html");
      const isThere = await Deno.stat(join(SITE, path)).then(({ isFile }) => isFile, () => false);
      if (!url.pathname.startsWith(BASE) || !isThere) wrong.push(`${page}: ${raw}`);
      const id = decodeURIComponent(url.hash.slice(1));
      const target = texts.get(path);
      if (id !== "" && target && !target.includes(`id="${id}"`)) wrong.push(`${page}: ${raw}`);
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test({
  name: "the site shows the console, finds words, and fetches nothing from elsewhere",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  fn: async () => {
    await built;
    await using server = serve();
    await using browser = await launchBrowser();
    const page = await browser.newPage();
    const failed: string[] = [];
    const host = `127.0.0.1:${server.addr.port}`;
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (/^https?:$/.test(url.protocol) && url.host !== host) failed.push(request.url());
    });
    page.on("response", (response) => {
      if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`);
    });
    page.on("pageerror", (error) => failed.push(error.message));
    await page.goto(`http://${host}${BASE}`);
    await page.getByRole("heading", { name: "One console for all your machines" }).waitFor();
    await page.waitForFunction(
      "document.querySelector('.console-picture img.light')?.naturalWidth > 0",
    );
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.locator("#localsearch-input").fill("maintenance window");
    await page.locator("#localsearch-list a").first().click();
    await page.waitForURL(/\/docs\/[a-z-]+\.html/);
    assert.deepEqual(failed, []);
  },
});
