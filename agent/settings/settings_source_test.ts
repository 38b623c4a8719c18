import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { AgentState } from "../state/agent_state.ts";
import { type DeviceConfig, fromText, toText } from "./device_config.ts";
import { type DefaultsFile, readDefaultsFile, SettingsSource } from "./settings_source.ts";

const device = (advanced: DeviceConfig["sections"]): DeviceConfig => ({
  checkIntervalMs: 5_000,
  server: { version: "customURL", url: "file:///a", sha256: "" },
  agent: undefined,
  sections: { advanced_settings: advanced },
});

const none: DefaultsFile = { content: undefined, releaseKeys: [], problem: undefined };

function rig(options: Partial<ConstructorParameters<typeof SettingsSource>[0]> = {}) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const state = options.state ?? AgentState.open(":memory:");
  const make = () =>
    new SettingsSource({
      state,
      defaults: none,
      overrides: { debug: undefined, wait: undefined },
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

Deno.test("SettingsSource takes the same settings in another order for the same", () => {
  using at = rig();
  const settings = at.make();
  const networks = {
    home: { type: "wifi", ssid: "Home", priority: 1 },
    work: { type: "wifi", ssid: "Work" },
  };
  const accept = (additional_networks: JsonObject, debug = false) =>
    settings.accept({
      ...device({ debug }),
      sections: { additional_networks, advanced_settings: { debug } },
    });
  accept(networks);
  const { current } = settings;
  const [before, saved] = [current.value, at.state.deviceConfig()];
  const { home, work } = networks;
  const turned = { work: { ssid: work.ssid, type: work.type }, home };
  accept(turned);
  assert.equal(current.value, before, "nobody is told");
  assert.equal(at.state.deviceConfig(), saved, "nothing is written");
  accept(turned, true);
  assert.deepEqual(
    Object.keys(current.value.settings.additional_networks),
    Object.keys(before.settings.additional_networks),
    "what goes by the order of networks goes on, too",
  );
});

const defaultsOf = (content: DefaultsFile["content"]): DefaultsFile => ({
  ...none,
  content,
});

Deno.test("SettingsSource lets the later layer win, also with false and zero", () => {
  using at = rig({
    defaults: defaultsOf({
      advanced_settings: {
        debug: true,
        disable_machine_server: true,
        download_limit_kilobytes_per_second: 100,
      },
      network_configuration: { device_reboot_after_offline_minutes: 30 },
    }),
    overrides: { debug: undefined, wait: true },
  });
  const settings = at.make();
  const advanced = () => settings.current.value.settings.advanced_settings;
  assert.equal(advanced().debug, true, "from the defaults file");
  settings.accept({
    ...device({
      debug: false,
      wait_for_update_check: false,
      download_limit_kilobytes_per_second: 0,
    }),
    sections: {
      advanced_settings: {
        debug: false,
        wait_for_update_check: false,
        download_limit_kilobytes_per_second: 0,
      },
      network_configuration: { device_reboot_after_offline_minutes: 0 },
    },
  });
  assert.equal(advanced().debug, false, "the cloud's false wins");
  assert.equal(advanced().download_limit_kilobytes_per_second, 0, "the cloud's zero wins");
  const { network_configuration: network } = settings.current.value.settings;
  assert.equal(network.device_reboot_after_offline_minutes, 0);
  assert.equal(advanced().disable_machine_server, true);
  assert.equal(advanced().wait_for_update_check, true, "the command line wins over the cloud");
});

Deno.test("SettingsSource lets a false of the command line win over the cloud's true", () => {
  using at = rig({ overrides: { debug: false, wait: false } });
  const settings = at.make();
  settings.accept(device({ debug: true, wait_for_update_check: true }));
  const { debug, wait_for_update_check } = settings.current.value.settings.advanced_settings;
  assert.deepEqual([debug, wait_for_update_check], [false, false]);
});

Deno.test("SettingsSource removes a variable that the cloud names no more", () => {
  using at = rig({
    defaults: defaultsOf({ advanced_settings: { viam_server_env: { A: "file", B: "file" } } }),
  });
  const settings = at.make();
  const env = () => settings.current.value.settings.advanced_settings.machine_server_env;
  settings.accept(device({ machine_server_env: { A: "cloud", C: "cloud" } }));
  assert.deepEqual(env(), { A: "cloud", B: "file", C: "cloud" });
  settings.accept(device({ machine_server_env: { C: "cloud" } }));
  assert.deepEqual(env(), { A: "file", B: "file", C: "cloud" });
  settings.accept(device({ machine_server_env: { B: null } }));
  assert.deepEqual(env(), { A: "file" }, "null removes what the file set");
  settings.accept(device({}));
  assert.deepEqual(env(), { A: "file", B: "file" });
});

Deno.test("SettingsSource starts with what the cloud said in an earlier run", () => {
  using at = rig();
  at.make().accept(device({ machine_server_env: { A: "1" } }));
  const { settings, device: kept } = at.make().current.value;
  assert.deepEqual(settings.advanced_settings.machine_server_env, { A: "1" });
  assert.equal(kept?.server?.url, "file:///a");
});

Deno.test("SettingsSource goes on with the defaults when what was kept is damaged", () => {
  using at = rig();
  at.state.saveDeviceConfig("{", new Date());
  assert.equal(at.make().current.value.device, undefined);
  assert.match(at.log.messages("warn").join(), /cannot be read/);
});

Deno.test("SettingsSource reports a wrong field once and uses the rest", () => {
  using at = rig();
  const settings = at.make();
  settings.accept(device({ debug: "maybe", disable_machine_server: true }));
  settings.accept(device({ debug: "maybe", disable_machine_server: false }));
  assert.equal(settings.current.value.settings.advanced_settings.disable_machine_server, false);
  assert.equal(at.log.messages("error").length, 1);
  assert.match(at.log.messages("error")[0] ?? "", /advanced_settings\.debug.*cloud.*maybe/);
});

Deno.test("SettingsSource keeps a list of what is wrong, without secrets, while it is wrong", () => {
  using at = rig({ defaults: { ...none, problem: "the defaults file is not used" } });
  const settings = at.make();
  settings.accept(device({
    machine_server_env: { TOKEN: 12345678, GOOD: "yes" },
    machine_server_start_timeout_minutes: 0,
  }));
  const { problems, settings: used } = settings.current.value;
  assert.equal(problems.length, 3, problems.join("\n"));
  assert.match(problems.join("\n"), /the defaults file is not used\n.*TOKEN.*\n.*timeout_minutes/);
  assert(!problems.join().includes("12345678"));
  assert.equal(used.advanced_settings.machine_server_start_timeout_minutes, 10);
  settings.accept(device({}));
  assert.deepEqual(settings.current.value.problems, ["the defaults file is not used"]);
});

Deno.test("SettingsSource gives the settings away before it says anything about them", () => {
  const seen: string[] = [];
  using at = rig({
    beforeReport: (settings) =>
      seen.push(`${settings.advanced_settings.debug} ${at.log.entries.length}`),
  });
  at.make().accept(device({ debug: true, machine_server_start_timeout_minutes: 0 }));
  assert.deepEqual(seen, ["false 0", "true 0"]);
  assert.equal(at.log.messages("error").length, 1);
});

Deno.test("SettingsSource uses new settings although they cannot be kept", () => {
  using at = rig();
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
    assert.deepEqual(await readDefaultsFile(path, log), none);
    assert.deepEqual(log.entries, []);
    await Deno.writeTextFile(path, '// ours\n{"advanced_settings":{"debug":true,},}');
    const read = await readDefaultsFile(path, log);
    assert.deepEqual(read, defaultsOf({ advanced_settings: { debug: true } }));
    await Deno.writeTextFile(path, "{");
    const { content, releaseKeys, problem } = await readDefaultsFile(path, log);
    assert.equal(content, undefined);
    assert.equal(releaseKeys, undefined, "there may be some");
    assert.match(problem ?? "", /is not used: .*defaults\.json: not JSON: line 1/);
    assert.match(log.text(), /defaults\.json: not JSON: line 1/);
    await Deno.remove(path);
    await Deno.mkdir(path);
    assert.match((await readDefaultsFile(path, log)).problem ?? "", /defaults\.json/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readDefaultsFile() takes the enrollment out of the sections", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const log = memoryLogger();
    const path = join(folder, "defaults.json");
    const read = async (enrollment: unknown) => {
      await Deno.writeTextFile(path, JSON.stringify({ enrollment }));
      return await readDefaultsFile(path, log);
    };
    const good = { app_address: "https://cloud:8443/", token: "t0ken" };
    assert.deepEqual(await read(good), {
      ...none,
      content: {},
      enrollment: { appAddress: "https://cloud:8443", token: "t0ken" },
    });
    for (
      const wrong of [
        ...["t0ken", [], { token: "t" }, { ...good, token: "a b" }, { ...good, token: 1 }],
        ...[{ ...good, app_address: "http://cloud" }, { ...good, app_address: "https://c/x" }],
      ]
    ) {
      log.entries.splice(0);
      const { enrollment, problem } = await read(wrong);
      assert.deepEqual([enrollment, problem], [undefined, undefined]);
      assert.match(log.messages("error").join(), /defaults\.json: enrollment: /);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readDefaultsFile() takes the release keys out of the sections", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const log = memoryLogger();
    const path = join(folder, "defaults.json");
    const key = "0f".repeat(32);
    const read = async (content: unknown) => {
      await Deno.writeTextFile(path, JSON.stringify(content));
      return await readDefaultsFile(path, log);
    };
    assert.deepEqual(await read({ release_keys: [key], advanced_settings: { debug: true } }), {
      content: { advanced_settings: { debug: true } },
      releaseKeys: [key],
      problem: undefined,
    });
    for (const wrong of ["x", [7], ["0f"], [`${key}0f`], {}]) {
      const { content, releaseKeys, problem } = await read({ debug: 1, release_keys: wrong });
      assert.deepEqual([content, releaseKeys], [{ debug: 1 }, undefined]);
      assert.match(problem ?? "", /release_keys must be a list/);
    }
    for (const wrong of [[], "text", null]) {
      const { releaseKeys, problem } = await read(wrong);
      assert.equal(releaseKeys, undefined);
      assert.match(problem ?? "", /expected an object of sections/);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
