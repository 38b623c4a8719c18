import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { mergeAgentSettings, readAgentConfig } from "./agent_settings.ts";
import { defaultAgentSettings } from "./agent_settings_testing.ts";
import { validateForSave } from "./validate.ts";

Deno.test("defaultAgentSettings() are those of the spec", () => {
  deepStrictEqual(defaultAgentSettings(), {
    version_control: { "agent": "stable", "machine-server": "stable" },
    advanced_settings: {
      debug: false,
      download_limit_kilobytes_per_second: 0,
      disable_network_configuration: false,
      disable_system_configuration: false,
      disable_machine_server: false,
      machine_server_env: {},
      machine_server_start_timeout_minutes: 10,
      machine_server_hang_timeout_minutes: 5,
      wait_for_update_check: false,
    },
    network_configuration: {
      device_reboot_after_offline_minutes: 0,
      disable_bt_provisioning: false,
      disable_captive_portal_redirect: false,
      disable_wifi_provisioning: false,
      bluetooth_service_brand: "machine",
      bluetooth_trust_all: false,
      connectivity_probe_url: "",
      fragment_id: "",
      hotspot_interface: "",
      hotspot_password: "machinesetup",
      hotspot_prefix: "machine-setup",
      manufacturer: "machine",
      model: "custom",
      offline_before_starting_hotspot_minutes: 2,
      retry_connection_timeout_minutes: 10,
      turn_on_hotspot_if_wifi_has_no_internet: false,
      user_idle_minutes: 5,
      wifi_power_save: null,
    },
    additional_networks: {},
    system_configuration: {
      forward_system_logs: "",
      logging_journald_runtime_max_use_megabytes: 512,
      logging_journald_system_max_use_megabytes: 512,
      os_auto_upgrade_type: "",
    },
  });
});

Deno.test("mergeAgentSettings() lets a later layer win, explicit false, zero and empty too", () => {
  const { settings, problems } = mergeAgentSettings([
    {
      advanced_settings: { debug: true, wait_for_update_check: true },
      network_configuration: {
        device_reboot_after_offline_minutes: 60,
        hotspot_prefix: "acme",
        manufacturer: "Acme",
        wifi_power_save: true,
      },
    },
    undefined,
    {
      advanced_settings: { debug: false },
      network_configuration: {
        device_reboot_after_offline_minutes: 0,
        manufacturer: "",
        wifi_power_save: null,
      },
    },
    { advanced_settings: { debug: true } },
  ]);
  deepStrictEqual(problems, []);
  strictEqual(settings.advanced_settings.debug, true);
  strictEqual(settings.advanced_settings.wait_for_update_check, true);
  const network = settings.network_configuration;
  strictEqual(network.device_reboot_after_offline_minutes, 0);
  strictEqual(network.hotspot_prefix, "acme");
  strictEqual(network.manufacturer, "");
  strictEqual(network.wifi_power_save, null);
});

Deno.test("mergeAgentSettings() reports a bad field with its layer and uses the rest", () => {
  const { settings, problems } = mergeAgentSettings([
    { network_configuration: { user_idle_minutes: 7 } },
    {
      advanced_settings: { debug: "yes", wait_for_update_check: true },
      network_configuration: { user_idle_minutes: 0, hotspot_password: "short" },
    },
  ], ["defaults file", "cloud"]);
  deepStrictEqual(problems.map(({ path }) => path), [
    "agent.advanced_settings.debug",
    "agent.network_configuration.user_idle_minutes",
    "agent.network_configuration.hotspot_password",
  ]);
  for (const { message } of problems) match(message, /\(in the cloud\)$/);
  strictEqual(settings.advanced_settings.debug, false);
  strictEqual(settings.advanced_settings.wait_for_update_check, true);
  strictEqual(settings.network_configuration.user_idle_minutes, 7);
  strictEqual(settings.network_configuration.hotspot_password, "machinesetup");
});

Deno.test("mergeAgentSettings() merges variables one by one, null removes one", () => {
  const env = (machine_server_env: object) => ({ advanced_settings: { machine_server_env } });
  const { settings, problems } = mergeAgentSettings([
    env({ A: "1", B: "1", C: "1" }),
    env({ B: "2", C: null, D: 5, E: "" }),
  ]);
  deepStrictEqual(settings.advanced_settings.machine_server_env, { A: "1", B: "2", E: "" });
  deepStrictEqual(problems.map(({ path, found }) => [path, found]), [
    ["agent.advanced_settings.machine_server_env.D", "******"],
  ]);
});

Deno.test("mergeAgentSettings() replaces networks as a whole, null removes one, a bad one is left out", () => {
  const networks = (additional_networks: object) => ({ additional_networks });
  const { settings, problems } = mergeAgentSettings([
    networks({
      office: { type: "wifi", ssid: "office", psk: "12345678", priority: 5 },
      gone: { type: "wired" },
      kept: { type: "wired", priority: -999 },
    }),
    networks({
      office: { type: "wifi", ssid: "office2" },
      gone: null,
      kept: { type: "wired", priority: 1000 },
      bad: { type: "wifi", ssid: "x", psk: "short" },
    }),
  ]);
  deepStrictEqual(settings.additional_networks, {
    office: {
      type: "wifi",
      interface: "",
      ssid: "office2",
      psk: "",
      priority: 0,
      ipv4_address: "auto",
      ipv4_gateway: "",
      ipv4_dns: [],
      ipv4_route_metric: 0,
    },
    kept: { ...settings.additional_networks["kept"], priority: -999 },
  });
  deepStrictEqual(problems.map(({ path, found }) => [path, found]), [
    ["agent.additional_networks.kept.priority", "1000"],
    ["agent.additional_networks.bad.psk", "******"],
  ]);
});

Deno.test("mergeAgentSettings() sets the reboot to never when it would come before the hotspot", () => {
  const reboot = (minutes: number) =>
    mergeAgentSettings([
      { network_configuration: { retry_connection_timeout_minutes: 20 } },
      { network_configuration: { device_reboot_after_offline_minutes: minutes } },
    ]);
  strictEqual(reboot(20).settings.network_configuration.device_reboot_after_offline_minutes, 20);
  deepStrictEqual(reboot(20).problems, []);
  strictEqual(reboot(19).settings.network_configuration.device_reboot_after_offline_minutes, 0);
  strictEqual(
    reboot(19).problems[0]?.path,
    "agent.network_configuration.device_reboot_after_offline_minutes",
  );
});

Deno.test("mergeAgentSettings() reads names of other programs of the family", () => {
  const { settings, problems, warnings } = mergeAgentSettings([{
    version_control: { "viam-server": "1.2.3" },
    advanced_settings: {
      disable_viam_server: true,
      viam_server_env: { A: "1" },
      viam_server_start_timeout_minutes: "1h20m",
    },
  }]);
  deepStrictEqual([...problems, ...warnings], []);
  strictEqual(settings.version_control["machine-server"], "1.2.3");
  strictEqual(settings.advanced_settings.disable_machine_server, true);
  deepStrictEqual(settings.advanced_settings.machine_server_env, { A: "1" });
  strictEqual(settings.advanced_settings.machine_server_start_timeout_minutes, 80);
});

Deno.test("mergeAgentSettings() warns about unknown keys and survives layers of any kind", () => {
  const { warnings } = mergeAgentSettings([{ turbo: 1, advanced_settings: { warp: 9 } }]);
  deepStrictEqual(warnings.map(({ path }) => path), [
    "agent.turbo",
    "agent.advanced_settings.warp",
  ]);
  for (const layer of [5, "x", [], true, { advanced_settings: 7, additional_networks: [] }]) {
    const { settings, problems } = mergeAgentSettings([layer]);
    strictEqual(problems.length > 0, true);
    deepStrictEqual(settings, defaultAgentSettings());
  }
});

Deno.test("mergeAgentSettings() is not changed by a layer with keys of Object.prototype", () => {
  const layer = JSON.parse(
    '{"__proto__":{"x":1},"advanced_settings":{"toString":1,"constructor":2}}',
  );
  const { settings, warnings } = mergeAgentSettings([layer]);
  strictEqual(settings.advanced_settings.debug, false);
  strictEqual(warnings.length, 3);
  strictEqual(({} as Record<string, unknown>)["x"], undefined);
});

const inNetwork = (fields: object) => ({ network_configuration: fields });
const wifi = (fields: object) => ({
  additional_networks: { n: { type: "wifi", ssid: "s", ...fields } },
});
const FIELDS: [what: string, agent: object, path?: string][] = [
  ["SSID of 32 bytes", wifi({ ssid: "ä".repeat(16) })],
  ["SSID of 33 bytes", wifi({ ssid: `${"ä".repeat(16)}x` }), "additional_networks.n.ssid"],
  ["wifi without SSID", wifi({ ssid: "" }), "additional_networks.n.ssid"],
  ["wired without SSID", { additional_networks: { n: { type: "wired" } } }],
  [
    "network without type",
    { additional_networks: { n: { ssid: "s" } } },
    "additional_networks.n.type",
  ],
  ["network of unknown type", wifi({ type: "token-ring" }), "additional_networks.n.type"],
  ["PSK of 8", wifi({ psk: "12345678" })],
  ["PSK of 64", wifi({ psk: "a".repeat(64) })],
  ["PSK of 7", wifi({ psk: "1234567" }), "additional_networks.n.psk"],
  ["PSK of 65", wifi({ psk: "a".repeat(65) }), "additional_networks.n.psk"],
  ["priority -999", wifi({ priority: -999 })],
  ["priority 999", wifi({ priority: 999 })],
  ["priority -1000", wifi({ priority: -1000 }), "additional_networks.n.priority"],
  ["priority 1000", wifi({ priority: 1000 }), "additional_networks.n.priority"],
  ["priority 1.5", wifi({ priority: 1.5 }), "additional_networks.n.priority"],
  ["address auto", wifi({ ipv4_address: "auto" })],
  ["address CIDR", wifi({ ipv4_address: "10.1.2.3/24" })],
  [
    "address without length",
    wifi({ ipv4_address: "10.1.2.3" }),
    "additional_networks.n.ipv4_address",
  ],
  ["gateway", wifi({ ipv4_gateway: "10.1.2.1", ipv4_dns: ["1.1.1.1"], ipv4_route_metric: 0 })],
  ["gateway no address", wifi({ ipv4_gateway: "gw" }), "additional_networks.n.ipv4_gateway"],
  ["DNS no list", wifi({ ipv4_dns: "1.1.1.1" }), "additional_networks.n.ipv4_dns"],
  ["DNS no address", wifi({ ipv4_dns: ["dns"] }), "additional_networks.n.ipv4_dns"],
  ["metric negative", wifi({ ipv4_route_metric: -1 }), "additional_networks.n.ipv4_route_metric"],
  ["interface of 15", wifi({ interface: "a".repeat(15) })],
  ["interface of 16", wifi({ interface: "a".repeat(16) }), "additional_networks.n.interface"],
  [
    "interface with space",
    inNetwork({ hotspot_interface: "wl an" }),
    "network_configuration.hotspot_interface",
  ],
  [
    "hotspot password of 7",
    inNetwork({ hotspot_password: "1234567" }),
    "network_configuration.hotspot_password",
  ],
  ["minutes as text", inNetwork({ user_idle_minutes: "90s" })],
  [
    "minutes below 1",
    inNetwork({ user_idle_minutes: "30s" }),
    "network_configuration.user_idle_minutes",
  ],
  [
    "minutes no duration",
    inNetwork({ user_idle_minutes: "soon" }),
    "network_configuration.user_idle_minutes",
  ],
  [
    "reboot too early",
    inNetwork({ device_reboot_after_offline_minutes: 5 }),
    "network_configuration.device_reboot_after_offline_minutes",
  ],
  ["power save null", inNetwork({ wifi_power_save: null })],
  [
    "power save text",
    inNetwork({ wifi_power_save: "on" }),
    "network_configuration.wifi_power_save",
  ],
  ["journald -1", { system_configuration: { logging_journald_system_max_use_megabytes: -1 } }],
  [
    "journald -2",
    { system_configuration: { logging_journald_system_max_use_megabytes: -2 } },
    "system_configuration.logging_journald_system_max_use_megabytes",
  ],
  ["upgrade types", { system_configuration: { os_auto_upgrade_type: "security" } }],
  [
    "upgrade type unknown",
    { system_configuration: { os_auto_upgrade_type: "weekly" } },
    "system_configuration.os_auto_upgrade_type",
  ],
];

for (const [what, agent, path] of FIELDS) {
  Deno.test(`validateForSave() ${path ? `reports agent.${path}` : "accepts"} when given: ${what}`, () => {
    const problems = validateForSave({ agent });
    deepStrictEqual(problems.map((problem) => problem.path), path ? [`agent.${path}`] : []);
  });
}

Deno.test("readAgentConfig() warns of a program over plain http without its hash", () => {
  const warningsOf = (version: string): string[] => {
    const warnings: string[] = [];
    const config = { version_control: { "machine-server": version } };
    readAgentConfig(config, ["agent"], () => {}, ({ message }) => warnings.push(message));
    return warnings;
  };
  const plain = "http://releases.example.com/machine-server";
  ok(warningsOf(plain)[0]?.includes("plain http"));
  for (const fine of ["stable", `${plain}#sha256=${"a".repeat(64)}`, "http://127.0.0.1:1/s"]) {
    deepStrictEqual(warningsOf(fine), []);
  }
});
