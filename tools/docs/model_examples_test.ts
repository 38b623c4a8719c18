import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Schema, Validator } from "@cfworker/json-schema";
import { systemClock } from "../../shared/base/time/clock.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { builtinModels } from "../../server/models/builtin.ts";
import { ResourceManager } from "../../server/resources/graph/manager.ts";
import { MODEL_EXAMPLES } from "./model_examples.ts";

const clock = systemClock;
const registry = builtinModels({
  ...{ clock, processes: systemProcesses(), untrusted: false, variables: () => ({}) },
  home: Deno.cwd(),
});
/** What the examples need in addition to one another. */
const AROUND: readonly [name: string, key: string, attributes?: JsonObject][] = [
  ["right", "rdk:component:motor rdk:builtin:gpio", {
    ...{ board: "chassis", pins: { pwm: "3", dir: "4" } },
    ...{ encoder: "wheel-encoder", ticks_per_rotation: 200 },
  }],
];
/** Models whose examples name something outside of the machine; the data manager needs a server. */
const OUTSIDE = [
  ...["command", "http", "modbus", "mqtt", "rtsp", "gps-nmea", "image_file", "webcam", "screen"],
  ...["linux", "replay", "replay_pcd", "tflite_cpu", "mlmodel"],
];
const models = new Map<string, JsonObject>(
  (await registry.dump()).map(({ api, model, attribute_schema }) =>
    [`${api} ${model}`, attribute_schema as JsonObject] as const
  ),
);

Deno.test("MODEL_EXAMPLES has one for each model", () => {
  assert.deepEqual(Object.keys(MODEL_EXAMPLES).sort(), [...models.keys()].sort());
});

Deno.test("each model says with what it was tried", () => {
  for (const { api, model, triedWith = "" } of registry.list()) {
    assert.match(triedWith, /^\S.{10,}[^.]$/, `${api} ${model}`);
  }
});

Deno.test("each of MODEL_EXAMPLES is taken by its model, without a key that is not known", async () => {
  for (const [key, { name, attributes = {} }] of Object.entries(MODEL_EXAMPLES)) {
    const schema = models.get(key)!;
    const { valid, errors } = new Validator(schema as Schema).validate(attributes);
    assert.ok(valid, `${key}: ${JSON.stringify(errors)}`);
    const known = Object.keys(schema["properties"] as JsonObject ?? {});
    assert.deepEqual(Object.keys(attributes).filter((name) => !known.includes(name)), [], key);
    const [api = "", model = ""] = key.split(" ");
    // Checks the attributes as a start does.
    await registry.find(api, model).dependencies?.(
      { name, api, model, attributes } as never,
      new AbortController().signal,
    );
  }
});

Deno.test("the examples run together as one machine, but for those that need something outside", async () => {
  const examples = Object.entries(MODEL_EXAMPLES)
    .filter(([key]) => !OUTSIDE.includes(key.split(":").at(-1)!) && !key.includes("data_manager"))
    .map(([key, { name, attributes = {} }]) => [name, key, attributes] as const);
  const resources = new ResourceManager({ registry, clock, log: memoryLogger() });
  await resources.apply(
    [...AROUND, ...examples].map(([name, key, attributes = {}]) => {
      const [api = "", model = ""] = key.split(" ");
      return { name, api, model, attributes, dependsOn: [] };
    }),
    "r1",
  );
  try {
    for (const [name, key] of examples) {
      const node = resources.index.peek(`${key.split(" ")[0]}/${name}`);
      assert.ok(node?.instance, `${name}: ${node?.state}, ${node?.error}`);
    }
  } finally {
    await resources.close();
  }
});
