import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { release, UpdaterRig } from "./testing.ts";
import { Turns } from "./turns.ts";

/** As the downloader's: the file itself is wrong. */
class Refused extends Error {
  readonly permanent = true;
}

const forever = (_: unknown, signal: AbortSignal) =>
  new Promise<void>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

Deno.test("Updater commits a version after a minute of health", async () => {
  await using at = new UpdaterRig();
  at.updater.setTarget(release("1.1.0"));
  await at.pass(0);
  const { state, installed, previous, trialUntil } = at.updater.snapshot();
  assert.deepEqual([state, installed, previous], ["trial", "1.1.0", "1.0.0"]);
  assert.equal(trialUntil?.getTime(), at.clock.now().getTime() + 60_000);
  await at.pass(59_000);
  assert.equal(at.state, "trial");
  await at.pass(2_000);
  assert.equal(at.state, "idle");
  assert.deepEqual(at.slot.steps, ["run 1.0.0", "swap 1.1.0", "run 1.1.0", "commit", "tidy"]);
  const after = at.updater.snapshot();
  assert.deepEqual([after.installed, after.previous], ["1.1.0", "1.0.0"]);
  assert.deepEqual(at.inUse.paths(), ["/cache/1.1.0", "/cache/1.0.0"]);
});

Deno.test("Updater wants the health without a gap", async () => {
  await using at = new UpdaterRig();
  at.updater.setTarget(release("1.1.0"));
  await at.pass(50_000);
  at.slot.health = { is: "not yet", why: "no answer" };
  await at.pass(10_000);
  assert.equal(at.updater.snapshot().error, "no answer");
  at.slot.health = { is: "yes", why: "" };
  await at.pass(50_000);
  assert.equal(at.state, "trial");
  await at.pass(12_000);
  assert.equal(at.state, "idle");
});

Deno.test("Updater marks a version bad that is not healthy for five minutes", async () => {
  await using at = new UpdaterRig();
  at.slot.health = { is: "not yet", why: "the cloud is not reached" };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(299_000);
  assert.equal(at.state, "trial");
  await at.pass(2_000);
  assert.equal(at.state, "refused");
  assert.equal(at.updater.snapshot().lastRollback?.reason, "the cloud is not reached");
  assert.deepEqual(at.slot.steps.slice(-3), ["back to 1.0.0", "run 1.0.0", "tidy"]);
});

Deno.test("Updater holds the deadline while the version has no part in it", async () => {
  await using at = new UpdaterRig();
  at.slot.health = { is: "not yet", why: "machine-server is disabled", isPaused: true };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(3_600_000);
  assert.equal(at.state, "trial");
  at.slot.health = { is: "yes", why: "" };
  await at.pass(61_000);
  assert.equal(at.state, "idle");
});

Deno.test("Updater marks a version bad at once that will not become healthy", async () => {
  await using at = new UpdaterRig();
  at.slot.health = { is: "no", why: "its workers fail" };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(1_000);
  assert.equal(at.state, "refused");
});

Deno.test("Updater marks a version bad after three failed starts, however slowly they come", async () => {
  await using at = new UpdaterRig();
  at.slot.health = { is: "not yet", why: "it starts", isPaused: true };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(0);
  for (const count of [1, 2]) {
    at.slot.failed = { count, reason: "it exited with code 1" };
    await at.pass(600_000);
    assert.equal(at.state, "trial", `${count} failed starts`);
  }
  at.slot.failed = { count: 3, reason: "it exited with code 1" };
  await at.pass(1_000);
  assert.equal(at.state, "refused");
});

Deno.test("Updater measures by the clock that nobody sets", async () => {
  await using at = new UpdaterRig();
  at.updater.setTarget(release("1.1.0"));
  await at.pass(10_000);
  at.clock.setNow("2036-01-01T00:00:00Z");
  await at.pass(10_000);
  assert.equal(at.state, "trial", "years forward do not end a trial");
  at.clock.setNow("1970-01-01T00:00:00Z");
  await at.pass(39_000);
  assert.equal(at.state, "trial");
  await at.pass(2_000);
  assert.equal(at.state, "idle", "and years back do not prolong it");
});

Deno.test("Updater waits for the window and says why, and since when", async () => {
  await using at = new UpdaterRig();
  const since = new Date("2026-01-02T03:00:00Z");
  at.permission = { allowed: false, why: "the sensor says no", since };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(3_600_000);
  const { state, waitingFor, waitingSince } = at.updater.snapshot();
  assert.deepEqual([state, waitingFor, waitingSince], ["waiting", "the sensor says no", since]);
  assert.deepEqual(at.slot.steps, ["run 1.0.0"]);
  assert(at.questions > 100);
  at.permission = { allowed: true };
  await at.pass(5_000);
  assert.equal(at.state, "trial");
});

Deno.test("Updater goes on as soon as the window opens", async () => {
  await using at = new UpdaterRig();
  at.permission = { allowed: false, why: "no", since: new Date(0) };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(0);
  assert.equal(at.state, "waiting");
  at.permission = { allowed: true };
  at.permissionChanged.value++;
  await at.pass(0);
  assert.equal(at.state, "trial");
});

Deno.test("Updater force() opens the window once", async () => {
  await using at = new UpdaterRig();
  at.permission = { allowed: false, why: "no", since: new Date(0) };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(10_000);
  at.updater.force();
  await at.pass(70_000);
  assert.equal(at.updater.snapshot().installed, "1.1.0");
  at.updater.setTarget(release("1.2.0"));
  await at.pass(70_000);
  assert.equal(at.state, "waiting");
});

Deno.test("Updater asks for a first version, too: something else may run", async () => {
  await using at = new UpdaterRig({ installed: "" });
  at.permission = { allowed: false, why: "no", since: new Date(0) };
  at.updater.setTarget(release("1.0.0"));
  await at.pass(61_000);
  assert.deepEqual([at.state, at.slot.steps], ["waiting", []]);
  at.permission = { allowed: true };
  await at.pass(66_000);
  assert.equal(at.state, "idle");
});

for (const failures of [0, 1]) {
  Deno.test(`Updater asks while a first version is on trial after ${failures} failed starts`, async () => {
    await using at = new UpdaterRig({ installed: "" });
    at.updater.setTarget(release("1.0.0"));
    await at.pass(0);
    at.slot.failed = { count: failures, reason: "it exited with code 1" };
    await at.pass(10_000);
    assert.equal(at.state, "trial");
    at.permission = { allowed: false, why: "the sensor says no", since: new Date(0) };
    at.updater.setTarget(release("1.1.0"));
    await at.pass(120_000);
    const { state, installed, waitingFor } = at.updater.snapshot();
    assert.deepEqual([state, installed, waitingFor], ["waiting", "1.0.0", "the sensor says no"]);
    assert(!at.slot.steps.includes("swap 1.1.0"));
    at.permission = { allowed: true };
    await at.pass(5_000);
    assert.equal(at.updater.snapshot().installed, "1.1.0");
  });
}

Deno.test("Updater reports when a version was trusted, and when one was marked bad", async () => {
  await using at = new UpdaterRig();
  at.updater.setTarget(release("1.1.0"));
  await at.pass(50_000);
  assert.equal(at.settled, 0);
  await at.pass(12_000);
  assert.deepEqual([at.state, at.settled], ["idle", 1]);
  at.slot.health = { is: "no", why: "its workers fail" };
  at.updater.setTarget(release("1.2.0"));
  await at.pass(1_000);
  assert.deepEqual([at.state, at.settled], ["refused", 2]);
});

Deno.test("Updater aborts a download that is not wanted any more", async () => {
  await using at = new UpdaterRig();
  const aborted: string[] = [];
  at.download = (wanted, signal) => {
    signal.addEventListener("abort", () => aborted.push(wanted.version), { once: true });
    return forever(wanted, signal);
  };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(0);
  assert.equal(at.state, "downloading");
  assert.deepEqual(at.updater.snapshot().bytesDownloaded, 1);
  at.updater.setTarget(release("1.2.0"));
  await at.pass(0);
  assert.deepEqual(aborted, ["1.1.0"]);
  at.updater.setTarget(undefined);
  await at.pass(0);
  assert.deepEqual([aborted, at.state], [["1.1.0", "1.2.0"], "idle"]);
});

Deno.test("Updater takes the newest link to the same content", async () => {
  await using at = new UpdaterRig();
  let failures = 1;
  at.download = () => failures-- > 0 ? Promise.reject(new Error("expired")) : Promise.resolve();
  at.updater.setTarget(release("1.1.0"));
  await at.pass(0);
  assert.deepEqual([at.state, at.updater.snapshot().error], ["downloading", "expired"]);
  at.updater.setTarget({ ...release("1.1.0"), url: "https://cloud/again" });
  await at.pass(6_000);
  assert.deepEqual(at.wanted.map(({ url }) => url), ["https://cloud/1.1.0", "https://cloud/again"]);
  assert.equal(at.state, "trial");
});

Deno.test("Updater tries what was refused again, later and later", async () => {
  await using at = new UpdaterRig();
  at.download = () => Promise.reject(new Refused("wrong hash"));
  at.updater.setTarget(release("1.1.0"));
  await at.pass(0);
  assert.deepEqual([at.state, at.updater.snapshot().error], ["failed", "wrong hash"]);
  await at.pass(24 * 3_600_000);
  const aDay = at.wanted.length;
  assert(aDay > 3 && aDay < 60, `${aDay} attempts`);
  at.download = undefined;
  at.updater.forgetBad();
  await at.pass(70_000);
  assert.equal(at.updater.snapshot().installed, "1.1.0");
});

Deno.test("Updater keeps the old version when it cannot be exchanged, and tries again", async () => {
  await using at = new UpdaterRig();
  at.slot.swapFailure = "the disk is full";
  at.updater.setTarget(release("1.1.0"));
  await at.pass(0);
  const { state, waitingFor } = at.updater.snapshot();
  assert.deepEqual([state, waitingFor], ["waiting", "the disk is full"]);
  assert.deepEqual(at.slot.steps, ["run 1.0.0", "undo", "run 1.0.0"]);
  await at.pass(50_000);
  assert.equal(at.slot.steps.length, 3, "not again and again");
  at.slot.swapFailure = undefined;
  await at.pass(20_000);
  assert.equal(at.state, "trial");
});

Deno.test("Updater makes no step forward that the disk does not take", async () => {
  await using at = new UpdaterRig();
  at.permission = { allowed: false, why: "no", since: new Date(0) };
  at.updater.setTarget(release("1.1.0"));
  await at.pass(1_000);
  at.diskFailure = "the disk is full";
  at.permission = { allowed: true };
  await at.pass(600_000);
  assert.equal(at.updater.snapshot().error, "the disk is full");
  assert.deepEqual(at.slot.steps, ["run 1.0.0"]);
  at.diskFailure = undefined;
  await at.pass(130_000);
  assert.equal(at.updater.snapshot().installed, "1.1.0");
});

Deno.test("Updater goes back without the disk, and writes it down when it can", async () => {
  await using at = new UpdaterRig();
  at.updater.setTarget(release("1.1.0"));
  await at.pass(1_000);
  at.diskFailure = "the disk is full";
  at.slot.health = { is: "no", why: "broken" };
  await at.pass(1_000);
  assert.equal(at.slot.steps.at(-2), "run 1.0.0");
  assert.match(at.disk.get("machine-server") ?? "", /"kind":"trial"/);
  at.diskFailure = undefined;
  await at.pass(61_000);
  assert.match(at.disk.get("machine-server") ?? "", /"kind":"held"/);
});

Deno.test("Updater goes on where the last run of the agent ended", async () => {
  const disk = new Map<string, string>();
  const clock = new FakeClock();
  {
    await using at = new UpdaterRig({ disk, clock });
    at.updater.setTarget(release("1.1.0"));
    await at.pass(46_000);
    assert.equal(at.state, "trial");
  }
  await using again = new UpdaterRig({ disk, clock });
  await again.pass(14_000);
  assert.equal(again.state, "trial");
  assert.deepEqual(again.slot.steps, ["run 1.1.0"], "and not the one before");
  await again.pass(3_000);
  assert.equal(again.state, "idle", "45 of the 60 seconds were kept");
  assert.deepEqual(again.wanted, []);
});

Deno.test("Updater lets the agent go first, and only one be on trial", async () => {
  const turns = new Turns();
  const clock = new FakeClock();
  await using server = new UpdaterRig({ turns, clock });
  await using agent = new UpdaterRig({ turns, clock, program: "machine-agent" });
  agent.permission = { allowed: false, why: "no", since: new Date(0) };
  agent.updater.setTarget(release("2.0.0"));
  server.updater.setTarget(release("1.1.0"));
  await server.pass(60_000);
  assert.equal(server.updater.snapshot().waitingFor, "machine-agent is updated first");
  agent.permission = { allowed: true };
  await server.pass(10_000);
  assert.deepEqual([agent.state, server.state], ["trial", "waiting"]);
  assert.equal(
    server.updater.snapshot().waitingFor,
    "the update of machine-agent has to finish first",
  );
  await server.pass(60_000);
  assert.deepEqual([agent.state, server.state], ["idle", "trial"]);
  agent.updater.setTarget(release("2.1.0"));
  await server.pass(10_000);
  assert.equal(
    agent.updater.snapshot().waitingFor,
    "the update of machine-server has to finish first",
  );
  await server.pass(60_000);
  assert.deepEqual([agent.state, server.state], ["trial", "idle"]);
});

Deno.test("Updater waits until it is known how far the agent's update was", async () => {
  const clock = new FakeClock();
  const disk = new Map<string, string>();
  const agents = { clock, disk, program: "machine-agent" } as const;
  {
    await using agent = new UpdaterRig(agents);
    agent.updater.setTarget(release("2.0.0"));
    await agent.pass(10_000);
    assert.equal(agent.state, "trial");
  }
  const turns = new Turns();
  const read = Promise.withResolvers<void>();
  await using server = new UpdaterRig({ turns, clock, disk });
  await using agent = new UpdaterRig({ ...agents, turns, isRead: read.promise });
  server.updater.setTarget(release("1.1.0"));
  await server.pass(20_000);
  assert.deepEqual(
    [server.state, server.updater.snapshot().waitingFor],
    ["waiting", "how far the update of machine-agent is has to be read"],
  );
  read.resolve();
  await server.pass(10_000);
  assert.deepEqual([agent.state, server.state], ["trial", "waiting"]);
  await server.pass(60_000);
  assert.deepEqual([agent.state, server.state], ["idle", "trial"]);
});

Deno.test("Updater does not wait for an agent's update that does not come on", async () => {
  const turns = new Turns();
  const clock = new FakeClock();
  await using server = new UpdaterRig({ turns, clock });
  await using agent = new UpdaterRig({ turns, clock, program: "machine-agent" });
  agent.download = forever;
  agent.updater.setTarget(release("2.0.0"));
  server.updater.setTarget(release("1.1.0"));
  await server.pass(14 * 60_000);
  assert.equal(server.state, "waiting");
  await server.pass(70_000);
  assert.equal(server.state, "trial", "after a quarter of an hour");
  await server.pass(60_000);
  agent.slot.obstacle = "it runs from its sources";
  server.updater.setTarget(release("1.2.0"));
  await server.pass(10_000);
  assert.equal(server.state, "trial", "at once for one that cannot be updated");
});

Deno.test("Updater asks an address without a hash now and then what it gives", async () => {
  await using at = new UpdaterRig({ installed: "" });
  at.updater.setTarget({ version: "customURL", url: "http://x/y", sha256: "" });
  await at.pass(61_000);
  assert.equal(at.state, "idle");
  const before = at.wanted.length;
  await at.pass(600_000);
  assert.equal(at.wanted.length, before + 4);
  assert.equal(at.state, "idle");
});

Deno.test("Updater tells what is missing once when there is nothing to run", async () => {
  await using at = new UpdaterRig({ installed: "" });
  at.updater.setTarget(undefined);
  await at.pass(60_000);
  const told = at.log.messages("error").filter((text) => text.includes("names no machine-server"));
  assert.equal(told.length, 1);
});

Deno.test("Updater installs nothing that the rules refuse, also what was ready before them", async () => {
  const disk = new Map<string, string>();
  {
    await using before = new UpdaterRig({ disk });
    before.permission = { allowed: false, why: "the line runs", since: before.clock.now() };
    before.updater.setTarget(release("1.1.0"));
    await before.pass(0);
    assert.equal(before.state, "waiting");
  }
  await using at = new UpdaterRig({ disk });
  at.objection = "it is not signed";
  await at.pass(60_000);
  assert.deepEqual([at.state, at.updater.snapshot().error], ["failed", "it is not signed"]);
  at.updater.setTarget(release("1.2.0"));
  await at.pass(60_000);
  assert.deepEqual(at.wanted, [], "it is not even downloaded");
  assert.deepEqual(at.slot.steps, ["run 1.0.0"]);
  at.objection = undefined;
  at.updater.setTarget({ ...release("1.2.0"), signature: "ab" });
  await at.pass(62_000);
  assert.equal(at.updater.snapshot().installed, "1.2.0");
});

Deno.test("Updater fetches a version again whose file is lost, and tries it", async () => {
  await using at = new UpdaterRig();
  at.updater.setTarget(release("1.0.0"));
  await at.pass(0);
  await at.updater.lose("/cache/0.9.0");
  await at.pass(0);
  assert.deepEqual([at.state, at.wanted.length], ["idle", 0], "another one is in use");
  await at.updater.lose("/cache/1.0.0");
  await at.pass(0);
  assert.deepEqual([at.state, at.wanted.map(({ version }) => version)], ["trial", ["1.0.0"]]);
  await at.pass(61_000);
  assert.deepEqual([at.state, at.updater.trusted?.path], ["idle", "/cache/1.0.0"]);
});
