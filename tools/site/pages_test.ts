import assert from "node:assert/strict";
import { menu, siteSources, titleOf, withoutLinks } from "./pages.ts";

const TEXTS: Readonly<Record<string, string>> = {
  "docs/api.md": "# API of `machine`\n[a](../README.md#x) [b](../proto) [c](examples/a.py) " +
    "[d](https://a.example) [e](#f) [g](../.ci/run)\n\n```md\n[h](../proto)\n```\n",
  "docs/extra.md": "# Extra\n",
  "README.md": "# machine\n",
};

Deno.test("siteSources() copies what pages link to, and unlinks what cannot be served", async () => {
  const paths = [...Object.keys(TEXTS), "docs/examples/a.py", "proto/a.proto", ".ci/run"];
  const { pages, files } = await siteSources(paths, (path) => Promise.resolve(TEXTS[path] ?? ""));
  assert.deepEqual([...pages.keys()], Object.keys(TEXTS));
  assert.deepEqual(files, ["docs/examples/a.py"]);
  assert.equal(
    pages.get("docs/api.md"),
    "# API of `machine`\n[a](../README.md#x) b [c](examples/a.py) [d](https://a.example) [e](#f) g" +
      "\n\n```md\n[h](../proto)\n```\n",
  );
});

Deno.test("menu() has every page once", () => {
  const groups = menu(new Map(Object.entries(TEXTS)));
  const links = groups.flatMap(({ items }) => items.map(({ text, link }) => `${text} ${link}`));
  assert.deepEqual(links, ["API of machine /docs/api", "machine /README", "Extra /docs/extra"]);
});

Deno.test("withoutLinks() keeps pictures and links around code", () => {
  const text = "![p](x.webp) [`a[0]`](../y)";
  assert.equal(withoutLinks(text, () => false), "![p](x.webp) `a[0]`");
  assert.equal(titleOf("no heading"), "");
});
