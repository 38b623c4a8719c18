import assert from "node:assert/strict";
import { leaves } from "./sources.ts";

Deno.test("leaves() gives each value the source with the longest path that covers it", () => {
  const config = { components: [{ name: "a", attributes: { x: 1, y: [] } }], debug: true };
  const sources = [
    { path: "components[0]", fragmentId: "f" },
    { path: "components[0].attributes.x", fragmentId: "" },
    { path: "comp", fragmentId: "wrong" },
  ];
  assert.deepEqual(
    leaves(config, sources).map(({ path, value, fragmentId }) => [
      path,
      value,
      fragmentId,
    ]),
    [
      ["components[0].name", '"a"', "f"],
      ["components[0].attributes.x", "1", ""],
      ["components[0].attributes.y", "[]", "f"],
      ["debug", "true", ""],
    ],
  );
});
