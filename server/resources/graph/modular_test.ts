/** Resources whose models come and go, and that depend on what their attributes name. */
import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { anyAttributes } from "./attributes.ts";
import { ResourceManager } from "./manager.ts";
import { type ImplicitDependencies, ModelRegistry, type RegisteredModel } from "./registry.ts";
import type { Resource } from "./resource.ts";
import { key, spec } from "./testing.ts";

const modular = (name: string, attributes: JsonObject = {}, dependsOn: string[] = []) => ({
  ...spec(name, dependsOn, attributes),
  model: "t:mod:m",
});

/** A graph with one built-in model, whose attribute `needs` and `likes` are names, and a module. */
function setUp() {
  const clock = new FakeClock();
  const steps: string[] = [];
  const build = (name: string, dependencies: ReadonlyMap<string, Resource>): Resource => {
    const used = [...dependencies.keys()].map((full) => full.slice(full.indexOf("/") + 1)).sort();
    steps.push(used.length > 0 ? `+${name}(${used})` : `+${name}`);
    return { close: () => void steps.push(`-${name}`) };
  };
  const registry = new ModelRegistry().register({
    api: "t:component:x",
    model: "t:test:m",
    attributes: anyAttributes,
    dependencies: ({ needs, likes }) => ({
      required: needs as string[] ?? [],
      optional: likes as string[] ?? [],
    }),
    construct: ({ name, dependencies }) => build(name, dependencies),
  }).register({
    api: "t:service:all",
    model: "t:test:m",
    attributes: anyAttributes,
    weakDependencies: ["t:component:x"],
    construct: ({ name, dependencies }) => build(name, dependencies),
  });
  const log = memoryLogger();
  const manager = new ResourceManager({ registry, clock, log });
  const model = (
    generation: string,
    dependencies?: () => Promise<ImplicitDependencies>,
  ): RegisteredModel => ({
    api: "t:component:x",
    model: "t:mod:m",
    attributeSchema: {},
    module: "mod",
    generation,
    ...(dependencies && { dependencies }),
    construct: ({ name, dependencies }) => Promise.resolve(build(name, dependencies)),
  });
  const status = () =>
    Object.fromEntries(
      manager.snapshot().map((r) => [r.name, r.error ? `${r.state}: ${r.error}` : r.state]),
    );
  const take = () => steps.splice(0).join(" ");
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  };
  return { clock, registry, manager, model, status, take, settle };
}

Deno.test("apply() builds first what the attributes of a resource name", async () => {
  const { manager, take } = setUp();
  await manager.apply([spec("b", [], { needs: ["a"] }), spec("a")], "r1");
  assert.equal(take(), "+a +b(a)");
});

Deno.test("apply() names the missing resource when attributes name one that isn't there", async () => {
  const { manager, status } = setUp();
  await manager.apply([spec("b", [], { needs: ["a"] })], "r1");
  assert.deepEqual(status(), {
    b: 'unhealthy: a dependency of its attributes: there is no resource "a" in the configuration',
  });
});

Deno.test("apply() shows the way round when attributes make a circle", async () => {
  const { manager, status } = setUp();
  await manager.apply([spec("a", ["b"]), spec("b", [], { needs: ["a"] })], "r1");
  assert.match(status()["a"]!, /circular dependency: .*\/a -> .*\/b -> .*\/a/);
});

Deno.test("apply() builds without an optional dependency, and again once it is there", async () => {
  const { manager, take, status } = setUp();
  await manager.apply([spec("b", [], { likes: ["a"] })], "r1");
  assert.equal(take(), "+b");
  await manager.apply([spec("b", [], { likes: ["a"] }), spec("a")], "r2");
  assert.equal(take(), "+a -b +b(a)");
  assert.deepEqual(status(), { b: "ready", a: "ready" });
  await manager.apply([spec("b", [], { likes: ["a"] })], "r3");
  assert.equal(take(), "-a -b +b");
});

Deno.test("apply() builds an optional dependency first when both are new", async () => {
  const { manager, take } = setUp();
  await manager.apply([spec("b", [], { likes: ["a"] }), spec("a")], "r1");
  assert.equal(take(), "+a +b(a)");
});

Deno.test("apply() comes to an end when two resources are optional to each other", async () => {
  const { manager, take, status } = setUp();
  await manager.apply([spec("a", [], { likes: ["b"] }), spec("b", [], { likes: ["a"] })], "r1");
  assert.equal(take(), "+a +b(a) -a +a(b)");
  assert.deepEqual(status(), { a: "ready", b: "ready" });
});

Deno.test("apply() comes to an end when an optional dependency needs the resource itself", async () => {
  const { manager, take, status } = setUp();
  const specs = [spec("a", [], { likes: ["b"] }), spec("b", ["c"]), spec("c", ["a"])];
  await manager.apply(specs, "r1");
  assert.equal(take(), "+a +c(a) +b(c)");
  const all = { ...spec("all"), api: "t:service:all" };
  await manager.apply([...specs, all, spec("d", ["all"])], "r2");
  assert.equal(take(), "+all(a,b,c) +d(all)");
  assert.deepEqual([...new Set(Object.values(status()))], ["ready"]);
});

Deno.test("apply() builds a weak dependent again when a resource of the API comes or goes", async () => {
  const { manager, take } = setUp();
  const all = { ...spec("all"), api: "t:service:all" };
  await manager.apply([all, spec("a")], "r1");
  assert.equal(take(), "+a +all(a)");
  await manager.apply([all, spec("a"), spec("b")], "r2");
  assert.equal(take(), "+b -all +all(a,b)");
  await manager.apply([all, spec("b")], "r3");
  assert.equal(take(), "-a -all +all(b)");
});

Deno.test("apply() waits for a module that starts, and builds when it is ready", async () => {
  const { registry, manager, model, take, status, settle } = setUp();
  registry.setModule("mod", { models: [], unavailable: "it starts", starting: true });
  const applied = manager.apply([modular("m"), spec("b", ["m"]), spec("x")], "r1");
  let isApplied = false;
  void applied.then(() => isApplied = true);
  await settle();
  assert.equal(take(), "+x");
  assert.deepEqual(status(), {
    m: "configuring: waiting for module mod to start",
    b: `configuring: waiting for dependency ${key("m")}: waiting for module mod to start`,
    x: "ready",
  });
  assert.equal(isApplied, false);
  registry.setModule("mod", { models: [model("1")] });
  await manager.refresh();
  await applied;
  assert.equal(take(), "+m +b(m)");
});

Deno.test("apply() does not wait forever for a module that starts", async () => {
  const { clock, registry, manager, settle } = setUp();
  registry.setModule("mod", { models: [], unavailable: "it starts", starting: true });
  let isApplied = false;
  void manager.apply([modular("m")], "r1").then(() => isApplied = true);
  await settle();
  await clock.advance(29_000);
  assert.equal(isApplied, false);
  await clock.advance(1_000);
  assert.equal(isApplied, true);
});

Deno.test("refresh() closes resources when their module ends, and builds them when it is back", async () => {
  const { registry, manager, model, take, status } = setUp();
  registry.setModule("mod", { models: [model("1")] });
  await manager.apply([modular("m"), spec("b", ["m"]), spec("x")], "r1");
  assert.equal(take(), "+m +x +b(m)");
  registry.setModule("mod", { models: [model("1")], unavailable: "module mod has crashed" });
  await manager.refresh();
  assert.equal(take(), "-b -m");
  assert.deepEqual(status(), {
    m: "unhealthy: module mod has crashed",
    b: `unhealthy: waiting for dependency ${key("m")}: module mod has crashed`,
    x: "ready",
  });
  registry.setModule("mod", { models: [model("2")] });
  await manager.refresh();
  await manager.apply([modular("m"), spec("b", ["m"]), spec("x")], "r1");
  assert.equal(take(), "+m +b(m)");
});

Deno.test("refresh() builds resources again when their module was started anew", async () => {
  const { registry, manager, model, take } = setUp();
  registry.setModule("mod", { models: [model("1")] });
  await manager.apply([modular("m"), spec("x")], "r1");
  take();
  registry.setModule("mod", { models: [model("2")] });
  await manager.refresh();
  await manager.apply([modular("m"), spec("x")], "r1");
  assert.equal(take(), "-m +m");
});

Deno.test("apply() asks the module about attributes while it builds the others", async () => {
  const { registry, manager, model, take, status } = setUp();
  const asked = Promise.withResolvers<ImplicitDependencies>();
  registry.setModule("mod", { models: [model("1", () => asked.promise)] });
  const applied = manager.apply([modular("m"), spec("a"), spec("x")], "r1");
  await manager.refresh();
  assert.equal(take(), "+a +x");
  assert.equal(status()["m"], "configuring: its attributes are being checked");
  asked.resolve({ required: ["a"] });
  await applied;
  assert.equal(take(), "+m(a)");
});

Deno.test("apply() shows what a module finds wrong with attributes, and asks again after 5 s", async () => {
  const { clock, registry, manager, model, take, status, settle } = setUp();
  let wrong = true;
  registry.setModule("mod", {
    models: [
      model("1", () => wrong ? Promise.reject(new Error("no pin")) : Promise.resolve({})),
    ],
  });
  await manager.apply([modular("m"), spec("x")], "r1");
  assert.deepEqual(status(), {
    m: "unhealthy: resource config validation error: no pin",
    x: "ready",
  });
  wrong = false;
  await clock.advance(5_000);
  await settle();
  assert.equal(take(), "+x +m");
});

Deno.test("setModule() gives back models that were there before when another module has them", () => {
  const { registry, model } = setUp();
  assert.deepEqual(registry.setModule("mod", { models: [model("1")] }), []);
  const second = model("other");
  assert.deepEqual(registry.setModule("second", { models: [second] }), [second]);
  registry.removeModule("mod");
  assert.deepEqual(registry.lookup("t:component:x", "t:mod:m"), { model: second });
});

Deno.test("lookup() names failing modules when nobody has the model", () => {
  const { registry } = setUp();
  registry.setModule("mod", { models: [], unavailable: "it exits at once" });
  const found = registry.lookup("t:component:x", "t:mod:none");
  assert.ok("problem" in found);
  assert.match(found.problem, /Perhaps it comes with a module that does not run: mod\./);
});
