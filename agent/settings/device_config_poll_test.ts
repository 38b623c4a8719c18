import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { AgentDeviceService } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { WorkerHealth } from "../../shared/workers/worker_health.ts";
import { AgentState } from "../state/agent_state.ts";
import { FakeCloud, settle, testHost } from "../testing.ts";
import { CloudReach } from "./cloud_reach.ts";
import { DeviceConfigPoll } from "./device_config_poll.ts";
import { SettingsSource } from "./settings_source.ts";

function pollRig() {
  const at = { clock: new FakeClock(), log: memoryLogger(), state: AgentState.open(":memory:") };
  const cloud = new FakeCloud();
  const settings = new SettingsSource({
    ...at,
    defaults: { content: undefined, releaseKeys: [], problem: undefined },
    overrides: { debug: undefined, wait: undefined },
  });
  const stop = new AbortController();
  const reach = new CloudReach();
  const health = new WorkerHealth(at.clock);
  health.started("settings");
  const poll = new DeviceConfigPoll({
    client: cloud.connection.client(AgentDeviceService),
    partId: "part-1",
    host: testHost,
    facts: () => ({
      agentVersion: "0.1.0",
      agentUptimeMs: 1_500,
      serverInstalled: "0.2.0",
      serverRunning: "",
      serverUptimeMs: undefined,
    }),
    settings,
    reach,
    onTurn: () => health.beat("settings"),
    clock: at.clock,
    log: at.log,
    random: () => 0.5,
  });
  const running = poll.run(stop.signal).catch(() => {});
  return {
    ...at,
    cloud,
    settings,
    reach,
    health,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      at.state.close();
    },
  };
}

Deno.test("DeviceConfigPoll tells about this host and takes the answer", async () => {
  await using at = pollRig();
  at.cloud.answer = {
    viamServerUpdateInfo: {
      version: "customURL",
      url: "file:///b",
      sha256: new Uint8Array([1, 255]),
    },
    advancedSettings: { debug: true },
  };
  await settle();
  const [question] = at.cloud.questions;
  assert.equal(question?.id, "part-1");
  assert.equal(question?.hostInfo?.platform, "linux/amd64");
  assert.equal(question?.versionInfo?.viamServerInstalled, "0.2.0");
  assert.deepEqual([question?.agentUptime?.seconds, question?.agentUptime?.nanos], [
    1n,
    500_000_000,
  ]);
  assert.equal(question?.viamServerUptime, undefined);
  const { settings, device } = at.settings.current.value;
  assert.equal(settings.advanced_settings.debug, true);
  assert.deepEqual(device?.server, { version: "customURL", url: "file:///b", sha256: "01ff" });
  assert.equal(at.reach.answered.value, true);
});

Deno.test("DeviceConfigPoll asks in the cloud's interval but never sooner than 5 s", async () => {
  await using at = pollRig();
  at.cloud.answer = { checkInterval: durationFromMs(8_000) };
  await settle();
  await at.clock.advance(7_999);
  assert.equal(at.cloud.questions.length, 1);
  at.cloud.answer = { checkInterval: durationFromMs(100) };
  await at.clock.advance(1);
  await settle();
  assert.equal(at.cloud.questions.length, 2);
  await at.clock.advance(4_999);
  assert.equal(at.cloud.questions.length, 2);
  await at.clock.advance(1);
  await settle();
  assert.equal(at.cloud.questions.length, 3);
});

Deno.test("DeviceConfigPoll asks every minute, however long the cloud's interval is", async () => {
  await using at = pollRig();
  at.cloud.answer = { checkInterval: durationFromMs(365 * 24 * 3_600_000) };
  await settle();
  for (let ask = 1; ask <= 15; ask++) {
    assert.equal(at.cloud.questions.length, ask);
    await at.clock.advance(60_000);
    await settle();
    assert.deepEqual(at.health.failing(), [], "the watchdog has no reason to end the agent");
  }
});

Deno.test("DeviceConfigPoll keeps asking while the cloud is away and says so once", async () => {
  await using at = pollRig();
  at.cloud.failure = Code.Unavailable;
  assert.equal(at.reach.reached.value, false);
  for (let ask = 1; ask <= 4; ask++) {
    await settle();
    assert.equal(at.cloud.questions.length, ask);
    await at.clock.advance([5_000, 10_000, 20_000, 30_000][ask - 1] ?? 0);
  }
  at.cloud.failure = undefined;
  await at.clock.advance(30_000);
  await settle();
  assert.deepEqual(at.log.messages("warn").length, 1, at.log.text());
  assert.deepEqual(at.log.messages("info"), ["the cloud answers again"]);
  assert.equal(at.reach.reached.value, true);
  at.cloud.failure = Code.Internal;
  await at.clock.advance(5_000);
  await settle();
  assert.deepEqual([at.reach.reached.value, at.reach.answered.value], [false, true]);
});
