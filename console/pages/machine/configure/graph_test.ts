import assert from "node:assert/strict";
import { graphOf } from "./graph.ts";

Deno.test("graphOf() finds what depends_on and attributes name, and nothing else", () => {
  const nodes = graphOf({
    components: [
      { name: "board", api: "rdk:component:board", model: "x" },
      {
        ...{ name: "left", api: "rdk:component:motor", model: "x", depends_on: ["board", "gone"] },
        attributes: {
          pins: { dir: "12" },
          board: "board",
          encoders: ["rdk:component:encoder/enc"],
        },
      },
      { name: "enc", type: "encoder", model: "x", attributes: { self: "enc" } },
      "no entry",
      { name: "left", model: "twice" },
    ],
    services: [{ name: "nav", api: "rdk:service:navigation", attributes: { base: "left" } }],
  });
  assert.deepEqual(
    nodes.map(({ key, place, dependencies, optional }) => [
      ...[key, place, dependencies, optional],
    ]),
    [
      ["board", "components.0", [], []],
      ["left", "components.1", ["board", "gone"], ["enc"]],
      ["enc", "components.2", [], []],
      ["nav", "services.0", [], ["left"]],
    ],
  );
  assert.equal(nodes[2]?.api, "rdk:component:encoder");
  assert.deepEqual(graphOf({ components: "x" }), []);
});

Deno.test("graphOf() takes no label for a need of what needs it", () => {
  const nodes = graphOf({
    components: [
      {
        ...{ name: "board", api: "rdk:component:board", model: "x" },
        attributes: { motors: [{ name: "left", pwm: 1 }], sensors: [{ name: "heat" }] },
      },
      { name: "enc", api: "rdk:component:encoder", model: "x", attributes: { board: "board" } },
      { name: "left", api: "rdk:component:motor", model: "x", attributes: { encoder: "enc" } },
      { name: "heat", api: "rdk:component:sensor", model: "x" },
    ],
  });
  assert.deepEqual(nodes.map(({ key, optional }) => [key, optional]), [
    ["board", ["heat"]],
    ["enc", ["board"]],
    ["left", ["enc"]],
    ["heat", []],
  ]);
});
