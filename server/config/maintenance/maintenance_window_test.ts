import assert from "node:assert/strict";
import { checkMachineConfig } from "../../../shared/config/check.ts";
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import type { ResourceConfig } from "../../../shared/config/resources.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { ConfigurationApplier } from "../source/applier.ts";
import { candidateOf } from "../source/candidate.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import type { Readings, Sensor } from "../../resources/graph/resource.ts";
import { MachineState } from "../status/machine_state.ts";
import { MaintenanceGate } from "./maintenance.ts";

const API = "rdk:component:sensor";
const sensor = (name: string): ResourceConfig => ({ name, api: API, model: "t:test:m" });
const window = (name: string) => ({
  sensor_name: `${API}/${name}`,
  maintenance_allowed_key: "idle",
});

/** A machine of real parts whose sensors read what the test says. */
class Machine implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly log = memoryLogger();
  readonly state = new MachineState(this.clock);
  readonly readings: Record<string, () => Readings | Promise<Readings>> = {};
  readonly followed: string[] = [];
  networkError: Error | undefined;
  built: () => Promise<void> = () => Promise.resolve();
  readonly #resources = new ResourceManager({
    registry: new ModelRegistry().register({
      api: API,
      model: "t:test:m",
      attributes: anyAttributes,
      construct: async ({ name }) => {
        await this.built();
        const sensor: Sensor = { getReadings: () => this.readings[name]?.() ?? { idle: true } };
        return sensor;
      },
    }),
    clock: this.clock,
    log: this.log.child("resources"),
  });
  readonly gate = new MaintenanceGate({
    resources: this.#resources,
    clock: this.clock,
    log: this.log,
  });
  readonly applier = new ConfigurationApplier({
    state: this.state,
    clock: this.clock,
    log: this.log,
    revealDiffs: false,
    effects: {
      setLogging: () => {},
      setIdentity: ({ revision }) => void this.followed.push(`who ${revision}`),
      setNetwork: ({ revision }) => {
        this.followed.push(`net ${revision}`);
        return this.networkError ? Promise.reject(this.networkError) : Promise.resolve();
      },
      setMachine: ({ components, revision }) =>
        this.#resources.apply(
          components.map(({ name, api, model }) => ({
            name,
            api,
            model,
            attributes: {},
            dependsOn: [],
          })),
          revision,
        ),
      maintenanceAllows: ({ maintenance }) => this.gate.allowsChanges(maintenance),
      keep: () => {},
    },
  });

  async offer(revision: string, changes: Partial<MachineConfig>): Promise<void> {
    const config = { ...emptyMachineConfig(), revision, ...changes };
    const offered = this.applier.offer(candidateOf(checkMachineConfig(config), "cloud"));
    await this.clock.advance(0);
    await offered;
    await this.clock.advance(0);
  }

  errors(): string[] {
    return this.log.entries.filter(({ logger, level }) => logger === "test" && level === "error")
      .map(({ message }) => message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.applier.close();
    await this.#resources.close();
  }
}

Deno.test("a configuration waits while the maintenance sensor says no, and says so once", async () => {
  await using machine = new Machine();
  machine.readings.gate = () => ({ idle: false });
  await machine.offer("r1", { components: [sensor("gate")], maintenance: window("gate") });
  assert.equal(machine.state.revision, "r1");
  await machine.offer("r2", {
    components: [sensor("gate"), sensor("new")],
    maintenance: window("gate"),
  });
  for (let minute = 0; minute < 10; minute++) await machine.clock.advance(60_000);
  assert.equal(machine.state.revision, "r1");
  assert.match(machine.state.configError, /waiting until the maintenance sensor allows it/);
  const told = machine.log.messages().filter((message) => message.includes("maintenance sensor"));
  assert.deepEqual(told, [
    "Reconfigure NOT allowed by maintenance sensor, but Cloud/Auth/Network config changes will be applied",
  ]);
  assert.ok(machine.followed.includes("who r2") && machine.followed.includes("net r2"));
  machine.readings.gate = () => ({ idle: true });
  await machine.clock.advance(10_000);
  assert.deepEqual([machine.state.revision, machine.state.configError], ["r2", ""]);
});

Deno.test("a problem of the maintenance sensor is told when it begins and when it changes", async () => {
  await using machine = new Machine();
  machine.readings.gate = () => ({ other: 1 });
  await machine.offer("r1", { components: [sensor("gate")], maintenance: window("gate") });
  await machine.offer("r2", { maintenance: window("gate") });
  await machine.clock.advance(120_000);
  assert.deepEqual(machine.errors(), [`maintenance sensor ${API}/gate has no reading idle`]);
  machine.readings.gate = () => ({ idle: "yes" });
  await machine.clock.advance(60_000);
  machine.readings.gate = () => ({ idle: false });
  await machine.clock.advance(60_000);
  machine.readings.gate = () => ({ idle: "yes" });
  await machine.clock.advance(60_000);
  assert.equal(machine.errors().length, 3, machine.log.text());
  assert.equal(machine.state.revision, "r1");
});

Deno.test("the maintenance block of the new configuration decides", async () => {
  await using machine = new Machine();
  machine.readings.old = () => ({ idle: false });
  machine.readings.next = () => ({ idle: true });
  const components = [sensor("old"), sensor("next")];
  await machine.offer("r1", { components, maintenance: window("old") });
  await machine.offer("r2", { components, maintenance: window("next") });
  assert.equal(machine.state.revision, "r2");
  await machine.offer("r3", { components, maintenance: window("old") });
  assert.equal(machine.state.revision, "r2");
  await machine.offer("r4", { components });
  assert.equal(machine.state.revision, "r4");
});

Deno.test("a maintenance sensor that is not there yet, or has no good name, holds nothing up", async () => {
  await using machine = new Machine();
  await machine.offer("r1", { components: [sensor("a")] });
  await machine.offer("r2", { components: [sensor("a"), sensor("b")], maintenance: window("b") });
  assert.equal(machine.state.revision, "r2");
  assert.match(machine.errors()[0] ?? "", /could not find sensor named rdk:component:sensor\/b/);
  await machine.offer("r3", {
    components: [sensor("a")],
    maintenance: { sensor_name: "b", maintenance_allowed_key: "idle" },
  });
  assert.equal(machine.state.revision, "r3");
});

Deno.test("the maintenance sensor is not asked before the first configuration runs", async () => {
  await using machine = new Machine();
  let asked = 0;
  machine.readings.gate = () => {
    asked++;
    return { idle: false };
  };
  const slow = Promise.withResolvers<void>();
  machine.built = () => slow.promise;
  await machine.offer("r1", { components: [sensor("gate")], maintenance: window("gate") });
  assert.equal(machine.state.phase, "initializing");
  machine.built = () => Promise.resolve();
  await machine.offer("r2", {
    components: [sensor("gate"), sensor("b")],
    maintenance: window("gate"),
  });
  slow.resolve();
  await machine.clock.advance(0);
  assert.deepEqual([machine.state.revision, asked], ["r2", 0]);
  await machine.offer("r3", { components: [sensor("gate")], maintenance: window("gate") });
  assert.deepEqual([machine.state.revision, asked], ["r2", 1]);
});

Deno.test("access and network go back when the configuration that waits is withdrawn", async () => {
  await using machine = new Machine();
  machine.readings.gate = () => ({ idle: false });
  const good = { components: [sensor("gate")], maintenance: window("gate") };
  await machine.offer("r1", good);
  machine.networkError = new Error("port 1 is in use");
  await machine.offer("r2", { components: [], maintenance: window("gate") });
  await machine.clock.advance(60_000);
  const problem = "the new network settings are not used: port 1 is in use";
  assert.deepEqual(machine.errors(), [problem]);
  machine.networkError = undefined;
  machine.followed.length = 0;
  await machine.offer("r1", good);
  assert.deepEqual(machine.followed, ["who r1", "net r1"]);
  assert.equal(machine.state.configError, "");
  await machine.clock.advance(60_000);
  assert.deepEqual(machine.followed, ["who r1", "net r1"]);
});

Deno.test("a slow maintenance sensor is asked once for all who ask, and for five seconds", async () => {
  const machine = new Machine();
  let asked = 0;
  machine.readings.gate = () => {
    asked++;
    return new Promise(() => {});
  };
  await machine.offer("r1", { components: [sensor("gate")], maintenance: window("gate") });
  const offered = machine.offer("r2", { maintenance: window("gate") });
  await machine.clock.advance(4_900);
  const agent = machine.gate.allowsRestart(window("gate"));
  await machine.clock.advance(0);
  assert.deepEqual([asked, machine.applier.busy], [1, true]);
  await machine.clock.advance(100);
  assert.equal((await agent).allowed, false);
  await offered;
  assert.match(machine.errors()[0] ?? "", /the reading took longer than 5000 ms/);
  await machine[Symbol.asyncDispose]();
});

Deno.test("a wrong name of the sensor keeps restarts closed until it is fixed", async () => {
  await using machine = new Machine();
  machine.readings.gate = () => ({ idle: true });
  await machine.offer("r1", { components: [sensor("gate")], maintenance: window("gone") });
  const wrong = await machine.gate.allowsRestart(machine.applier.config?.maintenance);
  assert.equal(wrong.allowed, false);
  assert.match(wrong.reason, /could not find sensor named .*gone/);
  await machine.offer("r2", { components: [sensor("gate")], maintenance: window("gate") });
  assert.deepEqual([machine.state.revision, machine.state.configError], ["r2", ""]);
  const fixed = await machine.gate.allowsRestart(machine.applier.config?.maintenance);
  assert.deepEqual(fixed, { allowed: true, reason: "" });
});
