import assert from "node:assert/strict";
import { difference } from "./diff.ts";

Deno.test("difference() tells changes by entry and value, whatever the order of keys", () => {
  const before = {
    components: [
      { name: "arm", model: "fake", attributes: { a: 1, b: { c: 2 } } },
      { name: "gone", model: "fake" },
    ],
    network: { bind_address: ":8080" },
  };
  const after = {
    network: { bind_address: ":8080" },
    components: [
      { model: "fake", name: "arm", attributes: { b: { c: 3 }, a: 1 } },
      { name: "new", model: "fake" },
    ],
    debug: true,
  };
  assert.deepEqual(difference(before, after), [
    {
      entry: "components.arm",
      kind: "changed",
      values: [{ path: "attributes.b.c", before: 2, after: 3 }],
    },
    { entry: "components.new", kind: "added", values: [] },
    { entry: "components.gone", kind: "removed", values: [] },
    { entry: "debug", kind: "added", values: [{ path: "", before: undefined, after: true }] },
  ]);
  assert.deepEqual(difference(before, structuredClone(before)), []);
});

Deno.test("difference() compares a list without names as one value, and tells another order", () => {
  const list = (...names: string[]) => ({ components: names.map((name) => ({ name })) });
  assert.deepEqual(difference(list("a", "b"), list("b", "a")).map(({ entry }) => entry), [
    "components",
  ]);
  assert.deepEqual(difference({ components: [1] }, { components: [2] }), [
    { entry: "components", kind: "changed", values: [{ path: "", before: [1], after: [2] }] },
  ]);
  assert.deepEqual(
    difference({ fragments: [] }, { fragments: ["f-1"] }).map(({ entry, kind }) => [entry, kind]),
    [["fragments.f-1", "added"]],
  );
});
