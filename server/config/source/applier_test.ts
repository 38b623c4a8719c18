import assert from "node:assert/strict";
import { checkMachineConfig } from "../../../shared/config/check.ts";
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { MachineState } from "../status/machine_state.ts";
import { ConfigurationApplier } from "./applier.ts";
import { candidateOf } from "./candidate.ts";

function config(revision: string, changes: Partial<MachineConfig> = {}): MachineConfig {
  return { ...emptyMachineConfig(), revision, ...changes };
}

function sensor(name: string) {
  return { name, api: "rdk:component:sensor", model: "rdk:builtin:fake" };
}

const candidate = (value: MachineConfig) => candidateOf(checkMachineConfig(value), "cloud");

/** An applier whose effects are written down. */
function setUp(options: { revealDiffs?: boolean } = {}) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const steps: string[] = [];
  const kept: string[] = [];
  const state = new MachineState(clock);
  const control = {
    maintenance: true,
    networkError: undefined as Error | undefined,
    resources: () => Promise.resolve(),
  };
  const applier = new ConfigurationApplier({
    state,
    clock,
    log,
    revealDiffs: options.revealDiffs ?? false,
    effects: {
      setLogging: ({ revision }) => void steps.push(`log ${revision}`),
      setIdentity: ({ revision }) => void steps.push(`who ${revision}`),
      setNetwork: ({ revision }) => {
        steps.push(`net ${revision}`);
        return control.networkError ? Promise.reject(control.networkError) : Promise.resolve();
      },
      setMachine: ({ components, revision }) => {
        steps.push(`res ${revision} ${components.map(({ name }) => name).join(",")}`);
        return control.resources();
      },
      maintenanceAllows: () => Promise.resolve(control.maintenance),
      keep: ({ revision }) => void kept.push(revision),
    },
  });
  const take = () => steps.splice(0).join("; ");
  return { applier, state, clock, log, control, kept, take };
}

/** Lets promises that are ready run. */
const settle = (clock: FakeClock) => clock.advance(0);

Deno.test("offer() applies and keeps a good configuration", async () => {
  const { applier, state, clock, kept, take } = setUp();
  await applier.offer(candidate(config("r1", { components: [sensor("s")] })));
  await settle(clock);
  assert.equal(take(), "log r1; who r1; net r1; res r1 s");
  assert.deepEqual([state.phase, state.revision, state.configError], ["running", "r1", ""]);
  assert.deepEqual(kept, ["r1"]);
  assert.equal(applier.busy, false);
});

Deno.test("offer() does nothing when the same configuration comes again", async () => {
  const { applier, clock, take } = setUp();
  await applier.offer(candidate(config("r1")));
  await settle(clock);
  take();
  await applier.offer(candidate(config("r1")));
  assert.equal(take(), "");
});

Deno.test("offer() leaves the last good one running when the new one is wrong", async () => {
  const { applier, state, clock, log, kept, take } = setUp();
  await applier.offer(candidate(config("r1")));
  await settle(clock);
  take();
  for (
    const [bad, path] of [
      [config("r2", { network: { bind_address: "nowhere" } }), "network.bind_address"],
      [config("r3", { components: [sensor("no/good")] }), "components[0].name"],
    ] as const
  ) {
    await applier.offer(candidate(bad));
    await applier.offer(candidate(bad));
    assert.equal(take(), "");
    assert.equal(state.revision, "r1");
    assert.ok(state.configError.includes(path), state.configError);
    const told = log.messages("error").filter((message) => message.includes(path));
    assert.equal(told.length, 1, "told once, however often it comes");
  }
  assert.deepEqual(kept, ["r1"]);
  await applier.offer(candidate(config("r1")));
  assert.equal(state.configError, "", "the applied one is the newest again");
});

Deno.test("offer() runs what is right of the first configuration when an entry is wrong", async () => {
  const { applier, state, clock, kept, take } = setUp();
  await applier.offer(
    candidate(config("r1", { components: [sensor("good"), sensor("no/good")] })),
  );
  await settle(clock);
  assert.match(take(), /res r1 good$/);
  assert.match(state.configError, /components\[1\]\.name/);
  assert.deepEqual(kept, [], "it is not what the next start shall rely on");
});

Deno.test("offer() goes on from a wrong first configuration unless a new mistake is made", async () => {
  const { applier, state, clock, log, kept, take } = setUp();
  const offer = async (revision: string, ...names: string[]) => {
    const wanted = candidate(config(revision, { components: names.map(sensor) }));
    await applier.offer(wanted);
    await applier.offer(wanted);
    await settle(clock);
    return take();
  };
  assert.match(await offer("r1", "good", "no/good", "bad!"), /res r1 good$/);
  assert.match(await offer("r2", "no/good", "other"), /res r2 other$/, "one mistake is fixed");
  assert.match(state.configError, /components\[0\]\.name/);
  const refusals = () => log.messages("error").filter((text) => text.includes("is not applied"));
  assert.deepEqual(refusals(), []);
  assert.equal(await offer("r3", "no/good", "ot!her"), "", "it would close what runs");
  assert.equal(refusals().length, 1);
  assert.equal(await offer("r4", "ot!her", "no/good", "more"), "");
  assert.equal(refusals().length, 2, "each is told, though the reason is the same");
  assert.match(await offer("r5", "other"), /res r5 other$/);
  assert.deepEqual([state.configError, kept], ["", ["r5"]]);
});

Deno.test("offer() applies nothing of the first configuration when it is wrong as a whole", async () => {
  const { applier, state, take } = setUp();
  await applier.offer(candidate(config("r1", { network: { bind_address: "nowhere" } })));
  assert.equal(take(), "");
  assert.equal(state.phase, "initializing");
  assert.match(state.configError, /network\.bind_address/);
});

Deno.test("offer() waits for the maintenance sensor, but not with network and access", async () => {
  const { applier, state, clock, control, take } = setUp();
  await applier.offer(candidate(config("r1")));
  await settle(clock);
  take();
  control.maintenance = false;
  await applier.offer(candidate(config("r2")));
  assert.equal(take(), "who r2; net r2");
  assert.match(state.configError, /maintenance/);
  assert.equal(state.revision, "r1");
  control.maintenance = true;
  await clock.advance(10_000);
  assert.equal(take(), "log r2; who r2; net r2; res r2 ");
  assert.deepEqual([state.revision, state.configError], ["r2", ""]);
});

Deno.test("offer() goes on with the resources when the new address cannot be had", async () => {
  const { applier, state, clock, control, kept } = setUp();
  control.networkError = new Error("cannot listen on 127.0.0.1:1");
  await applier.offer(candidate(config("r1")));
  await settle(clock);
  assert.equal(state.revision, "r1");
  assert.equal(state.configError, "cannot listen on 127.0.0.1:1");
  assert.deepEqual(kept, []);
});

Deno.test("offer() counts a configuration as applied when its resources were tried", async () => {
  const { applier, state, clock, control, kept } = setUp();
  const slow = Promise.withResolvers<void>();
  control.resources = () => slow.promise;
  await applier.offer(candidate(config("r1")));
  assert.equal(applier.busy, true);
  assert.equal(state.phase, "initializing");
  control.resources = () => Promise.resolve();
  await applier.offer(candidate(config("r2")));
  await settle(clock);
  slow.resolve();
  await settle(clock);
  assert.equal(state.revision, "r2", "the older one no longer counts");
  assert.deepEqual(kept, ["r2"]);
});

Deno.test("offer() says which fields of the configuration have no effect", async () => {
  const { applier, log } = setUp();
  await applier.offer(candidate(config("r1", {
    fragments: ["f"],
    auth: { tls_auth_entities: ["x"] },
  })));
  const told = log.messages("warn");
  assert.equal(told.length, 2);
  assert.match(told[0]!, /^fragments: has no effect/);
  assert.match(told[1]!, /^auth\.tls_auth_entities: has no effect/);
});

Deno.test("offer() logs the diff only when that was asked for", async () => {
  for (const revealDiffs of [false, true]) {
    const { applier, log } = setUp({ revealDiffs });
    await applier.offer(candidate(config("r1", { components: [sensor("s")] })));
    const shown = log.text().includes("+ resource rdk:component:sensor/s");
    assert.equal(shown, revealDiffs);
  }
});
