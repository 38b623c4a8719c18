import assert from "node:assert/strict";
import { pageFor } from "./match.ts";

const PAGES = [{ path: "/" }, { path: "/machines/:machine/:tab?" }, { path: "/data" }];

Deno.test("pageFor() finds the page of an address and decodes its places", () => {
  assert.equal(pageFor(PAGES, "/")?.page.path, "/");
  assert.deepEqual(pageFor(PAGES, "/machines/a%2Fb/logs")?.places, { machine: "a/b", tab: "logs" });
  assert.deepEqual(pageFor(PAGES, "/machines/a/")?.places, { machine: "a" });
});

Deno.test("pageFor() finds none for what no page has", () => {
  for (const path of ["/machines", "/machines/a/b/c", "/data/file", "/machines/%zz", "/x"]) {
    assert.equal(pageFor(PAGES, path), undefined, path);
  }
});
