import assert from "node:assert/strict";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { AgentDeviceService } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger.ts";
import { FakeClock } from "../../shared/time/fake_clock.ts";
import { AgentState } from "../state/agent_state.ts";
import { FakeCloud, settle, testHost } from "../testing.ts";
import { Watched } from "../workers/watched.ts";
import { type DeviceConfig, fromText, toText } from "./device_config.ts";
import { DeviceConfigPoll } from "./device_config_poll.ts";
import { waitForFirstAnswer } from "./first_answer.ts";
import { readDefaultsFile, SettingsSource } from "./settings_source.ts";

const device = (advanced: DeviceConfig["sections"]): DeviceConfig => ({
  checkIntervalMs: 5_000,
  server: { version: "customURL", url: "file:///a", sha256: "" },
  agent: undefined,
  sections: { advanced_settings: advanced },
});

function bench(options: Partial<ConstructorParameters<typeof SettingsSource>[0]> = {}) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const state = options.state ?? AgentState.open(":memory:");
  const make = () =>
    new SettingsSource({
      state,
      defaults: undefined,
      overrides: { debug: false, wait: false },
      clock,
      log,
      ...options,
    });
  return { clock, log, state, make, [Symbol.dispose]: () => state.close() };
}

Deno.test("toText() and fromText() keep a device configuration", () => {
  const config = device({ debug: true });
  assert.deepEqual(fromText(toText(config)), config);
  for (const text of ["", "{", "{}", "null", '{"checkIntervalMs":1,"sections":[]}']) {
    assert.equal(fromText(text), undefined, text);
  }
});

Deno.test("SettingsSource lets the later layer win, also with false and zero", () => {
  using at = bench({
    defaults: { advanced_settings: { debug: true, disable_machine_server: true } },
    overrides: { debug: false, wait: true },
  });
  const settings = at.make();
  const advanced = () => settings.current.value.settings.advanced_settings;
  assert.equal(advanced().debug, true, "from the defaults file");
  settings.accept(device({ debug: false, wait_for_update_check: false }));
  assert.equal(advanced().debug, false, "the cloud's false wins");
  assert.equal(advanced().disable_machine_server, true);
  assert.equal(advanced().wait_for_update_check, true, "the command line wins over the cloud");
});

Deno.test("SettingsSource starts with what the cloud said in an earlier run", () => {
  using at = bench();
  at.make().accept(device({ machine_server_env: { A: "1" } }));
  const { settings, device: kept } = at.make().current.value;
  assert.deepEqual(settings.advanced_settings.machine_server_env, { A: "1" });
  assert.equal(kept?.server?.url, "file:///a");
});

Deno.test("SettingsSource goes on with the defaults when what was kept is damaged", () => {
  using at = bench();
  at.state.saveDeviceConfig("{", new Date());
  assert.equal(at.make().current.value.device, undefined);
  assert.match(at.log.messages("warn").join(), /cannot be read/);
});

Deno.test("SettingsSource reports a wrong field once and uses the rest", () => {
  using at = bench();
  const settings = at.make();
  settings.accept(device({ debug: "maybe", disable_machine_server: true }));
  settings.accept(device({ debug: "maybe", disable_machine_server: false }));
  assert.equal(settings.current.value.settings.advanced_settings.disable_machine_server, false);
  assert.equal(at.log.messages("error").length, 1);
  assert.match(at.log.messages("error")[0] ?? "", /advanced_settings\.debug.*cloud.*maybe/);
});

Deno.test("SettingsSource uses new settings although they cannot be kept", () => {
  using at = bench();
  const settings = at.make();
  at.state.close();
  settings.accept(device({ debug: true }));
  assert.equal(settings.current.value.settings.advanced_settings.debug, true);
  assert.match(at.log.messages("error").join(), /cannot be kept on disk/);
});

Deno.test("readDefaultsFile() gives nothing for a missing file and reports a bad one", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const log = memoryLogger();
    const path = join(folder, "defaults.json");
    assert.equal(await readDefaultsFile(path, log), undefined);
    assert.deepEqual(log.entries, []);
    await Deno.writeTextFile(path, '// ours\n{"advanced_settings":{"debug":true,},}');
    assert.deepEqual(await readDefaultsFile(path, log), { advanced_settings: { debug: true } });
    await Deno.writeTextFile(path, "{");
    assert.equal(await readDefaultsFile(path, log), undefined);
    assert.match(log.text(), /defaults\.json: not JSON: line 1/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

function pollBench() {
  const at = bench();
  const cloud = new FakeCloud();
  const settings = at.make();
  const stop = new AbortController();
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
    clock: at.clock,
    log: at.log,
    random: () => 0.5,
  });
  const running = poll.run(stop.signal).catch(() => {});
  return {
    ...at,
    cloud,
    settings,
    poll,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      at.state.close();
    },
  };
}

Deno.test("DeviceConfigPoll tells about this computer and takes the answer", async () => {
  await using at = pollBench();
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
  assert.equal(at.poll.answered.value, true);
});

Deno.test("DeviceConfigPoll asks in the cloud's interval but never sooner than 5 s", async () => {
  await using at = pollBench();
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

Deno.test("DeviceConfigPoll keeps asking while the cloud is away and says so once", async () => {
  await using at = pollBench();
  at.cloud.failure = Code.Unavailable;
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
});

Deno.test("waitForFirstAnswer() waits for the cloud, at most a minute", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const { signal } = new AbortController();
  const answered = new Watched(false);
  const early = waitForFirstAnswer({ answered, clock, log }, signal);
  answered.value = true;
  await early;
  assert.deepEqual(log.messages("warn"), []);

  let hasEnded = false;
  const late = waitForFirstAnswer({ answered: new Watched(false), clock, log }, signal)
    .then(() => hasEnded = true);
  await clock.advance(59_999);
  assert.equal(hasEnded, false);
  await clock.advance(1);
  await late;
  assert.match(log.messages("warn").join(), /did not answer in time/);
});
