/** Ten thousand random configurations, one after another and over one another. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { parseMachineConfig } from "../../../shared/config/parse.ts";
import { randomMachineConfig } from "../../../shared/config/random_config_testing.ts";
import { type RandomSource, randomSource } from "../../../shared/test_tools/random_source.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { candidateOf } from "./candidate.ts";
import { resourceApplier } from "./testing.ts";
import { resourceSpecs } from "./wanted.ts";

const CONFIGURATIONS = 10_000;
const NAMES = ["a", "b", "c", "d", "e", "f"] as const;
const API = "t:component:x";

/** Models that wait, fail and depend at random; remembers which resources are open. */
class Probe {
  /** Resources that are open, with their full names. */
  readonly open = new Map<Resource, string>();
  readonly faults: string[] = [];
  built = 0;

  constructor(private readonly random: RandomSource, private readonly clock: FakeClock) {}

  registry(): ModelRegistry {
    const names = (value: JsonValue | undefined) =>
      Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
    return new ModelRegistry().register({
      api: API,
      model: "t:t:m",
      attributes: anyAttributes,
      dependencies: ({ needs, likes }) => ({ required: names(needs), optional: names(likes) }),
      construct: async ({ fullName, dependencies, attributes }) => {
        for (const dependency of dependencies.values()) {
          if (!this.open.has(dependency)) {
            this.faults.push(`${fullName} was given a closed resource`);
          }
        }
        if (this.random.chance(0.3)) await this.clock.sleep(this.random.below(3_000));
        if (attributes["fail"] === true && this.random.chance(0.7)) throw new Error("told to fail");
        return this.#build(fullName);
      },
    });
  }

  #build(key: string): Resource {
    this.built++;
    const resource: Resource = {
      close: async () => {
        if (this.random.chance(0.2)) await this.clock.sleep(this.random.below(2_000));
        if (!this.open.delete(resource)) this.faults.push(`${key} was closed twice`);
        if (this.random.chance(0.05)) throw new Error("told to fail");
      },
    };
    this.open.set(resource, key);
    return resource;
  }
}

/** A small configuration whose names meet those of the one before. */
function meetingConfig(random: RandomSource, revision: number): JsonObject {
  const some = () => NAMES.filter(() => random.chance(0.2));
  const components = NAMES.filter(() => random.chance(0.6)).map((name) => ({
    name,
    api: API,
    model: random.chance(0.95) ? "t:t:m" : "t:t:unknown",
    depends_on: random.chance(0.3) ? some() : [],
    attributes: {
      fail: random.chance(0.15),
      version: random.below(3),
      ...(random.chance(0.2) && { needs: some() }),
      ...(random.chance(0.2) && { likes: some() }),
    },
  }));
  return { revision: `r${revision}`, components };
}

/** Puts something else in one place of a value. */
function damaged(value: JsonValue, random: RandomSource): JsonValue {
  if (random.chance(0.1) || typeof value !== "object" || value === null) {
    return random.pick<JsonValue>([
      null,
      0,
      -1,
      1e300,
      "",
      "\u0000",
      "a".repeat(5_000),
      [],
      {},
      true,
    ]);
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return value;
  const key = keys[random.below(keys.length)]!;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const inner = (copy as Record<string, JsonValue>)[key]!;
  (copy as Record<string, JsonValue>)[key] = damaged(inner, random);
  return copy;
}

Deno.test(`offer() leaves nothing open after ${CONFIGURATIONS} random configurations`, async () => {
  const seed = 20_261_121;
  const random = randomSource(seed);
  const clock = new FakeClock();
  const log = memoryLogger();
  const probe = new Probe(random, clock);
  const resources = new ResourceManager({ registry: probe.registry(), clock, log });
  const sources = { read: () => undefined, findPackage: () => undefined };
  const applier = resourceApplier({
    ...{ clock, log },
    setMachine: (config) =>
      resources.apply(resourceSpecs(config, sources, () => {}), config.revision),
    maintenanceAllows: () => Promise.resolve(random.chance(0.9)),
  });

  for (let n = 0; n < CONFIGURATIONS; n++) {
    let json: JsonValue = random.chance(0.7)
      ? meetingConfig(random, n)
      : JSON.parse(JSON.stringify(randomMachineConfig(random)));
    while (random.chance(0.3)) json = damaged(json, random);
    void applier.offer(candidateOf(parseMachineConfig(json), "cloud"));
    if (random.chance(0.5)) await clock.advance(random.below(8_000));
    const keys = [...probe.open.values()];
    assert.equal(new Set(keys).size, keys.length, `seed ${seed}, step ${n}: one twice: ${keys}`);
    assert.deepEqual(probe.faults, [], `seed ${seed}, step ${n}`);
    log.entries.length = 0;
  }

  applier.close();
  const closed = resources.close();
  await clock.advance(120_000);
  await closed;
  assert.ok(probe.built > CONFIGURATIONS / 10, `only ${probe.built} resources were ever built`);
  assert.deepEqual([...probe.open.values()], [], `seed ${seed}`);
  assert.deepEqual(probe.faults, [], `seed ${seed}`);
});
