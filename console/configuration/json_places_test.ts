import assert from "node:assert/strict";
import { json } from "@codemirror/lang-json";
import { EditorState } from "@codemirror/state";
import { placeOf, wholeTree } from "./json_places.ts";

Deno.test("placeOf() finds a value also where the editor has not read the text that far", () => {
  const components = Array.from({ length: 3_000 }, (_, at) => ({
    ...{ name: `sensor-${at}`, api: "rdk:component:sensor" },
    attributes: { interval: at, units: "metric" },
  }));
  const state = EditorState.create({
    doc: JSON.stringify({ components }, null, 2),
    extensions: [json()],
  });
  const { from, to } = placeOf(state, wholeTree(state, 60_000), [
    "components",
    2_999,
    "attributes",
    "interval",
  ]);
  assert.equal(state.sliceDoc(from, to), '"interval": 2999');
});
