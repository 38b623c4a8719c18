import assert from "node:assert/strict";
import { merge } from "./merge.ts";

const arm = (attributes: Record<string, number>) => ({ name: "arm", attributes });

Deno.test("merge() keeps what both changed in different places", () => {
  const base = { components: [arm({ a: 1, b: 1 }), { name: "old" }], debug: false };
  const mine = { components: [arm({ a: 2, b: 1 }), { name: "old" }, { name: "my" }], debug: false };
  const theirs = { components: [arm({ a: 1, b: 3 })], debug: true };
  assert.deepEqual(merge(base, mine, theirs), {
    config: { components: [arm({ a: 2, b: 3 }), { name: "my" }], debug: true },
    conflicts: [],
  });
});

Deno.test("merge() names what both changed in another way, and keeps mine there", () => {
  const base = { components: [arm({ a: 1 })], network: { port: 1 } };
  const mine = { components: [arm({ a: 2 })] };
  const theirs = { components: [arm({ a: 3 })], network: { port: 2 } };
  const { config, conflicts } = merge(base, mine, theirs);
  assert.deepEqual(config, { components: [arm({ a: 2 })] });
  assert.deepEqual(conflicts, ["components.arm.attributes.a", "network"]);
});

Deno.test("merge() of the same changes has no conflict", () => {
  const config = { components: [arm({ a: 2 })] };
  assert.deepEqual(merge({ components: [] }, config, structuredClone(config)), {
    config,
    conflicts: [],
  });
});
