import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { anyAttributes } from "./attributes.ts";
import { noteProblem } from "./noted_problems.ts";
import { ResourceManager } from "./manager.ts";
import { ModelRegistry } from "./registry.ts";
import type { Construction, Resource } from "./resource.ts";
import type { ResourceSpec } from "./target.ts";
import { key, spec } from "./testing.ts";

/** A graph whose constructors are scripted and whose steps are written down. */
function setUp(limits = {}) {
  const clock = new FakeClock();
  const steps: string[] = [];
  const scripts = new Map<string, (c: Construction<unknown>) => unknown>();
  const closings = new Map<string, () => Promise<void>>();
  let running = 0;
  let mostRunning = 0;
  const registry = new ModelRegistry().register({
    api: "t:component:x",
    model: "t:test:m",
    attributes: anyAttributes,
    async construct(construction) {
      steps.push(`+${construction.name}`);
      mostRunning = Math.max(mostRunning, ++running);
      try {
        await scripts.get(construction.name)?.(construction);
      } finally {
        running--;
      }
      const resource: Resource = {
        close: async () => {
          steps.push(`-${construction.name}`);
          await closings.get(construction.name)?.();
        },
      };
      return resource;
    },
  });
  const log = memoryLogger();
  const manager = new ResourceManager({ registry, clock, log, limits });
  const status = () =>
    Object.fromEntries(
      manager.snapshot().map((r) => [r.name, r.error ? `${r.state}: ${r.error}` : r.state]),
    );
  const take = () => steps.splice(0).join(" ");
  return { clock, manager, scripts, closings, status, take, log, most: () => mostRunning };
}

const chain = [spec("c", ["b"]), spec("b", ["a"]), spec("a"), spec("x")];

Deno.test("apply() builds dependencies first when resources depend on each other", async () => {
  const { manager, take, status } = setUp();
  await manager.apply(chain, "r1");
  assert.equal(take(), "+a +x +b +c");
  assert.deepEqual(status(), { c: "ready", b: "ready", a: "ready", x: "ready" });
  assert.equal(manager.busy, false);
});

Deno.test("look() notifies once of a resource that has got a problem", async () => {
  let problem: string | undefined;
  let changes = 0;
  const registry = new ModelRegistry().register({
    ...{ api: "t:component:x", model: "t:test:m", attributes: anyAttributes },
    construct: () => ({ problem: () => problem }),
  });
  const onChange = () => void changes++;
  const options = { registry, clock: new FakeClock(), log: memoryLogger(), onChange };
  const manager = new ResourceManager(options);
  await manager.apply([spec("a")], "r1");
  changes = 0;
  manager.look();
  assert.equal(changes, 0);
  problem = "it is gone";
  manager.look();
  manager.look();
  assert.equal(changes, 1);
  problem = undefined;
  manager.look();
  assert.equal(changes, 2);
  await manager.close();
});

Deno.test("status shows what others note of a resource, until it is built again", async () => {
  const registry = new ModelRegistry().register({
    ...{ api: "t:component:x", model: "t:test:m", attributes: anyAttributes },
    construct: () => ({}),
  });
  const onChange = () => {};
  const options = { registry, clock: new FakeClock(), log: memoryLogger(), onChange };
  const manager = new ResourceManager(options);
  const shown = () => {
    manager.look();
    return manager.snapshot().map(({ state, error }) => [state, error]);
  };
  await manager.apply([spec("a")], "r1");
  const instance = manager.index.find("t:component:x", "a")!.instance!;
  noteProblem(instance, "its video ended");
  assert.deepEqual(shown(), [["unhealthy", "its video ended"]]);
  noteProblem(instance, undefined);
  assert.deepEqual(shown(), [["ready", ""]]);
  noteProblem(instance, "its video ended");
  await manager.apply([spec("a", [], { v: 2 })], "r2");
  assert.deepEqual(shown(), [["ready", ""]]);
  await manager.close();
});

Deno.test("apply() touches only the dependents when one resource changed", async () => {
  const { manager, take } = setUp();
  await manager.apply(chain, "r1");
  take();
  await manager.apply([spec("c", ["b"]), spec("b", ["a"], { v: 2 }), spec("a"), spec("x")], "r2");
  assert.equal(take(), "-c -b +b +c");
  assert.deepEqual(new Set(manager.snapshot().map((r) => r.revision)), new Set(["r2"]));
});

Deno.test("apply() hands over ready dependencies when it builds a dependent", async () => {
  const { manager, scripts } = setUp();
  let seen: string[] = [];
  scripts.set("b", (c) => seen = [...c.dependencies.keys()]);
  await manager.apply([spec("a"), spec("b", ["a"])], "r1");
  assert.deepEqual(seen, [key("a")]);
});

Deno.test("apply() builds the others when one fails, and retries after 5 s", async () => {
  const { clock, manager, scripts, status, take } = setUp();
  let broken = true;
  scripts.set("a", () => {
    if (broken) throw new Error("no device");
  });
  await manager.apply(chain, "r1");
  assert.equal(take(), "+a +x");
  const failed = {
    a: "unhealthy: resource build error: no device",
    b: `unhealthy: waiting for dependency ${key("a")}: resource build error: no device`,
    c: `unhealthy: waiting for dependency ${key("b")}: waiting for dependency ${key("a")}: ` +
      "resource build error: no device",
    x: "ready",
  };
  assert.deepEqual(status(), failed);

  await clock.advance(4_990);
  assert.equal(take(), "");
  await clock.advance(10);
  assert.equal(take(), "+a");
  assert.deepEqual(status(), failed);

  broken = false;
  await clock.advance(5_000);
  assert.equal(take(), "+a +b +c");
  assert.deepEqual(status(), { a: "ready", b: "ready", c: "ready", x: "ready" });
  await clock.advance(60_000);
  assert.equal(take(), "");
});

Deno.test("apply() logs a failure once when every retry fails the same way", async () => {
  const { clock, manager, scripts, log } = setUp();
  scripts.set("a", () => {
    throw new Error("no device");
  });
  await manager.apply([spec("a")], "r1");
  await clock.advance(20_000);
  assert.deepEqual(log.messages("error"), [
    `${key("a")} is not available: resource build error: no device`,
  ]);
});

Deno.test("apply() abandons a constructor when it takes longer than allowed", async () => {
  const { clock, manager, scripts, status, take } = setUp();
  const late = Promise.withResolvers<void>();
  scripts.set("a", () => late.promise);
  const applied = manager.apply([spec("a"), spec("x")], "r1");
  await clock.advance(119_999);
  assert.deepEqual(status(), { a: "configuring", x: "ready" });
  await clock.advance(1);
  await applied;
  assert.equal(
    status().a,
    `unhealthy: resource ${key("a")} timed out after 2m0s during reconfigure`,
  );
  await clock.advance(30_000);
  assert.equal(take(), "+a +x", "no second constructor beside the first");

  scripts.delete("a");
  late.resolve();
  await clock.advance(0);
  assert.equal(take(), "-a", "what the late constructor made is closed");
  await clock.advance(5_000);
  assert.equal(take(), "+a");
  assert.equal(status().a, "ready");
});

Deno.test("apply() does not wait for a slow constructor when a newer configuration comes", async () => {
  const { clock, manager, scripts, status, take } = setUp();
  const slow = Promise.withResolvers<void>();
  scripts.set("a", () => slow.promise);
  const first = manager.apply([spec("a"), spec("b", ["a"]), spec("x")], "r1");
  await clock.advance(0);
  const second = manager.apply([spec("a"), spec("b", ["a"]), spec("x", [], { v: 2 })], "r2");
  await clock.advance(0);
  assert.deepEqual(status(), { a: "configuring", b: "unconfigured", x: "ready" });
  assert.equal(take(), "+a +x -x +x");
  assert.equal(manager.busy, true);
  slow.resolve();
  await Promise.all([first, second]);
  assert.equal(take(), "+b");
  assert.deepEqual(status(), { a: "ready", b: "ready", x: "ready" });
});

Deno.test("apply() ends the constructor at work when its attributes changed", async () => {
  const { clock, manager, scripts, status, take } = setUp();
  let aborted = 0;
  scripts.set("a", ({ signal, attributes }) => {
    if ((attributes as { v?: number }).v === 2) return;
    return new Promise((resolve) =>
      signal.addEventListener("abort", () => resolve(void aborted++))
    );
  });
  const first = manager.apply([spec("a")], "r1");
  await clock.advance(0);
  await Promise.all([first, manager.apply([spec("a", [], { v: 2 })], "r2")]);
  assert.equal(aborted, 1);
  assert.equal(take(), "+a -a +a");
  assert.equal(status().a, "ready");
});

Deno.test("apply() goes on when a close hangs longer than 30 s", async () => {
  const { clock, manager, closings, status, log } = setUp();
  closings.set("a", () => new Promise(() => {}));
  await manager.apply([spec("a"), spec("x")], "r1");
  const applied = manager.apply([spec("a", [], { v: 2 }), spec("x")], "r2");
  await clock.advance(30_000);
  await applied;
  assert.equal(status().a, "ready");
  assert.ok(log.messages("error").includes(`closing ${key("a")} takes longer than 30 s; going on`));
});

Deno.test("apply() waits for the closing under way when a newer configuration comes", async () => {
  const { clock, manager, closings, status, take } = setUp();
  const closing = Promise.withResolvers<void>();
  closings.set("a", () => closing.promise);
  await manager.apply([spec("a"), spec("b", ["a"])], "r1");
  take();
  const second = manager.apply([spec("a", [], { v: 2 }), spec("b", ["a"])], "r2");
  await clock.advance(0);
  const third = manager.apply([spec("a", [], { v: 3 }), spec("b", ["a"])], "r3");
  await clock.advance(0);
  assert.equal(take(), "-b -a", "nothing is built beside what is still closing");
  assert.equal(status().a, "configuring");
  closing.resolve();
  await Promise.all([second, third]);
  assert.equal(take(), "+a +b");
  assert.deepEqual(new Set(manager.snapshot().map((r) => r.revision)), new Set(["r3"]));
});

Deno.test("apply() builds at most ten at a time when there are many", async () => {
  const { manager, scripts, most, status } = setUp();
  const specs: ResourceSpec[] = [];
  for (let i = 0; i < 40; i++) {
    specs.push(spec(`n${i}`));
    scripts.set(`n${i}`, () => new Promise((resolve) => setTimeout(resolve, 1)));
  }
  await manager.apply(specs, "r1");
  assert.equal(most(), 10);
  assert.deepEqual(new Set(Object.values(status())), new Set(["ready"]));
});

Deno.test("apply() says which models there are when a model is unknown", async () => {
  const { manager, status } = setUp();
  await manager.apply([{ ...spec("a"), model: "t:test:other" }], "r1");
  assert.equal(
    status().a,
    "unhealthy: unknown resource type: API t:component:x with model t:test:other not registered; " +
      "There may be no module in config that provides this model. " +
      "This server has t:test:m for that API.",
  );
});

Deno.test("apply() does not retry when only the configuration can cure it", async () => {
  const { clock, manager, status } = setUp();
  await manager.apply([spec("a", ["ghost"]), spec("b", ["a"])], "r1");
  assert.match(status().b!, /waiting for dependency t:component:x\/a: depends_on\[0\]/);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("close() closes dependents first and drops a waiting retry", async () => {
  const { clock, manager, scripts, take } = setUp();
  scripts.set("x", () => {
    throw new Error("no");
  });
  await manager.apply(chain, "r1");
  take();
  await manager.close();
  assert.equal(take(), "-c -b -a");
  assert.equal(clock.pendingTimers, 0);
  assert.deepEqual(manager.snapshot(), []);
});

Deno.test("acquire() tells missing, not ready and overloaded resources apart", async () => {
  const { manager, scripts } = setUp({ concurrentCalls: 2 });
  scripts.set("b", () => {
    throw new Error("no device");
  });
  await manager.apply([spec("a"), spec("b")], "r1");
  const failure = (name: string) => {
    try {
      manager.index.acquire("t:component:x", name);
    } catch (error) {
      assert.ok(error instanceof ConnectError);
      return `${Code[error.code]} ${error.rawMessage}`;
    }
  };
  assert.equal(failure("ghost"), "NotFound no node found with api t:component:x and name ghost");
  assert.equal(
    failure("b"),
    `Unavailable resource ${key("b")} not available; reason=resource build error: no device`,
  );
  assert.equal(failure("a"), undefined);
  assert.equal(failure("a"), undefined);
  assert.match(failure("a")!, /^ResourceExhausted .*concurrent-request limit of 2/);
});

/** A resource of a remote, whose build is written down. */
function found(name: string, generation: string, taken: string[]): ResourceSpec {
  return {
    ...spec(name),
    model: "remote",
    builtBy: {
      generation,
      construct: () => {
        taken.push(name);
        return Promise.resolve({ doCommand: () => ({ name }) });
      },
    },
  };
}

Deno.test("setFound() builds what depends on a remote when it comes, and only that", async () => {
  const { manager, take, status, log } = setUp();
  const built: string[] = [];
  manager.setFound([], new Map([["r", { pending: "it connects" }]]));
  const applied = manager.apply([spec("a", ["r:s"]), spec("b", ["s"]), spec("x")], "r1");
  const settled = async (name: string, state: RegExp) => {
    await waitFor(() => state.test(status()[name] ?? ""), { deadlineMs: 60_000 });
  };
  await settled("x", /^ready/);
  assert.match(status()["a"]!, /^configuring: depends_on\[0\]: waiting for remote r: it connects/);
  assert.equal(manager.busy, true);
  manager.setFound([found("r:s", "1", built)], new Map([["r", {}]]));
  await applied;
  assert.deepEqual(status(), { a: "ready", b: "ready", x: "ready", "r:s": "ready" });
  assert.equal(take(), "+x +a +b");
  assert.deepEqual(built, ["r:s"]);

  const lost = { ...found("r:s", "1", built), problem: "remote r is gone" };
  manager.setFound([lost], new Map([["r", { problem: "gone" }]]));
  await settled("a", /^unhealthy: waiting for dependency t:component:x\/r:s: remote r is gone/);
  assert.match(status()["b"]!, /^unhealthy/);
  assert.equal(status()["x"], "ready");
  assert.equal(log.messages().filter((text) => text.startsWith("t:component:x/r:s")).length, 0);
  manager.setFound([found("r:s", "2", built)], new Map([["r", {}]]));
  await settled("b", /^ready/);
  assert.deepEqual(take().split(" ").sort(), ["+a", "+b", "-a", "-b"]);
  await manager.close();
});

Deno.test("acquire() finds a remote's resource by its name alone where that is unique", async () => {
  const { manager } = setUp();
  const built: string[] = [];
  const { index } = manager;
  const nameOf = (name: string) => {
    const node = index.acquire("t:component:x", name);
    index.release(node);
    return node.target.spec.name;
  };
  manager.setFound([found("r:s", "1", built), found("r:own", "1", built)], new Map());
  await manager.apply([spec("own")], "r1");
  assert.deepEqual(["s", "r:s", "own", "r:own"].map(nameOf), ["r:s", "r:s", "own", "r:own"]);
  assert.equal(index.wholeName("t:component:x", "s"), "r:s");
  assert.equal(index.wholeName("t:component:x", "ghost"), "ghost");

  manager.setFound([found("r:s", "1", built), found("q:s", "1", built)], new Map());
  await manager.apply([spec("own")], "r2");
  assert.throws(() => nameOf("s"), /multiple nodes matching api .* call one of q:s, r:s/);
  assert.throws(() => nameOf("r:own"), /no node found/);

  manager.setFound([found("q:s", "1", built)], new Map());
  await manager.apply([spec("own")], "r3");
  assert.equal(nameOf("s"), "q:s");
  await manager.close();
});
