/** Random configurations of everything that is built in: what was opened is closed, timers too. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { parseMachineConfig } from "../../../shared/config/parse.ts";
import { type RandomSource, randomSource } from "../../../shared/test_tools/random_source.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FrameSystem } from "../../resources/frames/frame_system.ts";
import { builtinModels } from "../../models/builtin.ts";
import { testEnvironment } from "../../models/testing.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import type { ModelRegistry, RegisteredModel } from "../../resources/graph/registry.ts";
import { candidateOf } from "./candidate.ts";
import { resourceApplier } from "./testing.ts";
import { resourceSpecs } from "./wanted.ts";

const CONFIGURATIONS = 5_000;
const NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;

/** Counts what is open, by full name; a second resource of the name would be a fault. */
class OpenResources {
  readonly names = new Map<string, number>();
  built = 0;

  watch(registry: ModelRegistry): void {
    for (const model of registry.list()) {
      const { construct } = model;
      const watched: RegisteredModel["construct"] = async (construction) => {
        const resource = await construct.call(model, construction);
        this.#count(construction.fullName, 1);
        this.built++;
        const close = resource.close?.bind(resource);
        resource.close = async () => {
          this.#count(construction.fullName, -1);
          await close?.();
        };
        return resource;
      };
      Object.assign(model, { construct: watched });
    }
  }

  #count(name: string, by: number): void {
    const open = (this.names.get(name) ?? 0) + by;
    assert.ok(open === 0 || open === 1, `${name} is open ${open} times`);
    if (open === 0) this.names.delete(name);
    else this.names.set(name, open);
  }
}

/** A value by its schema, now and then a wrong one. */
function randomValue(schema: JsonObject, random: RandomSource): JsonValue {
  if (random.chance(0.03)) return random.pick<JsonValue>([null, -1, "", [], {}, true, 1e300]);
  const { type, minimum, maximum, items, properties, enum: values } = schema;
  switch (type) {
    case "boolean":
      return random.chance(0.5);
    case "integer":
    case "number": {
      const least = Number(minimum ?? 0);
      const value = least + random.next() * (Math.min(Number(maximum ?? 100), 1_000) - least);
      return type === "integer" ? 2 * Math.round(value / 2) : value;
    }
    case "array":
      return Array.from(
        { length: random.below(3) },
        () => randomValue(items as JsonObject, random),
      );
    case "object":
      return properties ? randomAttributes(schema, random) : { k: random.below(9) };
    default:
      return Array.isArray(values) ? values[random.below(values.length)]! : random.pick(NAMES);
  }
}

function randomAttributes({ properties, required }: JsonObject, random: RandomSource): JsonObject {
  const all = Object.entries((properties ?? {}) as { [name: string]: JsonObject });
  const needed = (required ?? []) as string[];
  return Object.fromEntries(
    all.filter(([name]) => needed.includes(name) || random.chance(0.3))
      .map(([name, schema]) => [name, randomValue(schema, random)]),
  );
}

function randomConfig(
  models: readonly RegisteredModel[],
  random: RandomSource,
  revision: number,
): JsonObject {
  const lists = { components: [] as JsonObject[], services: [] as JsonObject[] };
  for (const name of NAMES) {
    if (random.chance(0.3)) continue;
    const { api, model, attributeSchema } = models[random.below(models.length)]!;
    lists[api.includes(":service:") ? "services" : "components"].push({
      ...{ name, api, model },
      attributes: randomAttributes(attributeSchema, random),
      ...(random.chance(0.2) && { depends_on: [random.pick(NAMES)] }),
      ...(random.chance(0.4) && {
        frame: { parent: random.chance(0.5) ? "world" : random.pick(NAMES), translation: { x: 1 } },
      }),
    });
  }
  return { revision: `r${revision}`, ...lists };
}

Deno.test(`offer() closes all that is built in after ${CONFIGURATIONS} random configurations`, async () => {
  const seed = 777;
  const random = randomSource(seed);
  const clock = new FakeClock();
  const log = memoryLogger();
  const registry = builtinModels(testEnvironment({ clock, untrusted: true }));
  await registry.dump(); // loads what is loaded late
  const open = new OpenResources();
  open.watch(registry);
  // The data manager works with files and has tests of its own.
  const models = registry.list().filter(({ api }) => api !== "rdk:service:data_manager");
  const resources = new ResourceManager({ registry, clock, log });
  const frames = new FrameSystem({ resources: resources.index, clock, log });
  const sources = { read: () => undefined, findPackage: () => undefined };
  const applier = resourceApplier({
    ...{ clock, log },
    setMachine: (config) => {
      frames.setComponents(config.components);
      return resources.apply(resourceSpecs(config, sources, () => {}), config.revision);
    },
    maintenanceAllows: () => Promise.resolve(true),
  });
  const { signal } = new AbortController();

  for (let n = 0; n < CONFIGURATIONS; n++) {
    const json = randomConfig(models, random, n);
    void applier.offer(candidateOf(parseMachineConfig(json), "cloud"));
    if (random.chance(0.7)) await clock.advance(random.below(100));
    if (random.chance(0.1)) await frames.config([], signal);
    log.entries.length = 0;
  }

  applier.close();
  const closed = resources.close();
  await clock.advance(31_000);
  await closed;
  assert.ok(open.built > CONFIGURATIONS / 2, `only ${open.built} resources were ever built`);
  assert.deepEqual([...open.names], [], `seed ${seed}`);
  assert.equal(clock.pendingTimers, 0, `seed ${seed}: something still waits for the clock`);
});
