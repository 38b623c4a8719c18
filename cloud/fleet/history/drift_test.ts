import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { type FragmentSource, resolveConfig } from "../fragments/resolve.ts";
import { driftOf, prefixesOf } from "./drift.ts";

const camera = { name: "camera", model: "webcam", attributes: { path: "a" } };

/** The drift of fragment `f` in a configuration that includes it. */
function drift(fragments: Record<string, JsonObject>, config: JsonObject): string[] {
  const lookup = ({ id }: { id: string }): FragmentSource => ({
    ...{ id, revision: "1", config: fragments[id] ?? {} },
  });
  const included = prefixesOf("f", config, lookup);
  return driftOf(lookup({ id: "f" }), resolveConfig(config, lookup), included);
}

const mods = (id: string, ...list: JsonObject[]) => [{ fragment_id: id, mods: list }];

Deno.test("driftOf() takes a name that ends alike for no copy of the fragment's", () => {
  const f = { components: [camera] };
  const own = { name: "usb-camera", model: "other", attributes: {} };
  assert.deepEqual(drift({ f }, { fragments: ["f"], components: [own] }), []);
  const without = {
    ...{ fragments: ["f"], components: [own] },
    fragment_mods: mods("f", { $unset: { "components.camera": null } }),
  };
  assert.deepEqual(drift({ f }, without), ["components.camera"]);
});

Deno.test("driftOf() reports what is added to an entry", () => {
  const f = { components: [camera] };
  const config = {
    fragments: ["f"],
    fragment_mods: mods("f", {
      $set: { "components.camera.attributes.width": 640, "components.camera.disabled": true },
    }),
    cloud: { id: "x" },
  };
  assert.deepEqual(drift({ f }, config), [
    "components.camera.attributes.width",
    "components.camera.disabled",
  ]);
});

Deno.test("driftOf() knows entries by the prefixes of the fragment and of those around it", () => {
  const f = {
    components: [
      { name: "base", model: "m", depends_on: ["camera", "lidar"], frame: { parent: "world" } },
      camera,
    ],
    modules: [{ name: "m", module_id: "a:b", version: "1.0.0" }],
    processes: [{ id: "log", name: "journalctl", args: ["-f"] }],
  };
  const around = {
    fragments: [{ id: "f", prefix: { $variable: { name: "side" } } }],
    components: [{ name: "lidar", model: "m" }],
  };
  const config = {
    fragments: [
      { id: "f", prefix: "own" },
      { id: "around", prefix: "front", variables: { side: "left" } },
    ],
  };
  assert.deepEqual(drift({ f, around }, config), []);
  const changed = {
    ...config,
    fragment_mods: [
      ...mods("f", { $unset: { "components.own-camera": null } }),
      ...mods("around", {
        $set: { "components.left-base.model": "n", "processes.left-log.name": "tail" },
      }),
    ],
  };
  assert.deepEqual(drift({ f, around }, changed), [
    "components.front-left-base.model",
    "components.own-camera",
    "processes.front-left-log.name",
  ]);
});

Deno.test("driftOf() looks into lists, and leaves to the part what variables stand for", () => {
  const f = {
    services: [{
      name: "data",
      attributes: { outputs: [{ rate: 1, to: { $variable: { name: "to" } } }] },
    }],
  };
  const fragments = [{ id: "f", variables: { to: "x" } }];
  assert.deepEqual(drift({ f }, { fragments }), []);
  const set = { "services.data.attributes.outputs": [{ rate: 2, to: "x" }] };
  assert.deepEqual(
    drift({ f }, { fragments, fragment_mods: mods("f", { $set: set }) }),
    ["services.data.attributes.outputs"],
  );
});
