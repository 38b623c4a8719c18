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

Deno.test("menu() has the groups of the index, and every page once", () => {
  const index = "# All\n\n## Use\n\n- [API](api.md): calls.\n- [Gone](gone.md)\n";
  const groups = menu(new Map([...Object.entries(TEXTS), ["docs/README.md", index]]));
  const lines = groups.flatMap(({ text, items }) =>
    items.map((item) => `${text}: ${item.text} ${item.link}`)
  );
  assert.deepEqual(lines, [
    "Use: API of machine /docs/api",
    "The project: machine /README",
    "The project: All /docs/README",
    "The project: Extra /docs/extra",
  ]);
});

Deno.test("docs/README.md lists each page of docs/ once", async () => {
  const docs = new URL("../../docs/", import.meta.url);
  const names = [...Deno.readDirSync(docs)].map(({ name }) => name)
    .filter((name) => name.endsWith(".md") && name !== "README.md");
  const index = await Deno.readTextFile(new URL("README.md", docs));
  const listed = [...index.matchAll(/\]\(([^()\s]+)\)/g)].map(([, name]) => name);
  assert.deepEqual(listed.sort(), names.sort());
});

Deno.test("withoutLinks() keeps pictures and links around code", () => {
  const text = "![p](x.webp) [`a[0]`](../y)";
  assert.equal(withoutLinks(text, () => false), "![p](x.webp) `a[0]`");
  assert.equal(titleOf("no heading"), "");
});
