/** Every field of network_configuration and additional_networks, by what it does. */
import assert from "node:assert/strict";
import type { AdditionalNetwork, NetworkSettings } from "../../../shared/config/agent_fields.ts";
import type { Variant } from "../../dbus/system_bus.ts";
import type { ProfileSettings } from "../manager/profile.ts";
import { NetworkRig } from "./worker_testing.ts";

const MINUTE = 60_000;
const HOME = { ssid: "Home", psk: "correct horse" };

interface Effect {
  readonly network: Partial<NetworkSettings>;
  readonly additional?: Record<string, Partial<AdditionalNetwork>>;
  readonly shows: (at: NetworkRig) => Promise<void>;
}

const isServing = (at: NetworkRig) => at.until(() => at.site !== undefined, 20 * MINUTE);
const profileWith = (at: NetworkRig, mode: string): ProfileSettings =>
  [...at.nm.profiles.values()].map(({ settings }) => settings).find((settings) =>
    settings["802-11-wireless"]?.mode?.value === mode
  ) ?? assert.fail(`no profile with mode ${mode}`);
const told =
  (field: "manufacturer" | "model" | "fragmentId", value: string) => async (at: NetworkRig) => {
    await isServing(at);
    assert.equal(at.site?.port.status()[field], value);
  };
/** Portal and Bluetooth get all settings; theirs alone are shown by their own tests. */
const passedOn = (field: keyof NetworkSettings, value: unknown) => async (at: NetworkRig) => {
  at.hasBluetooth = true;
  await isServing(at);
  assert.equal(at.bluetooth?.settings[field], value);
};

const EFFECTS: Readonly<Record<keyof NetworkSettings, Effect>> = {
  connectivity_probe_url: {
    network: { connectivity_probe_url: "https://probe.test/" },
    shows: async (at) => {
      at.answersAt = "https://probe.test/";
      await at.until(() => at.at === "online", MINUTE);
      assert.equal(at.deps.report.value.detail, "by probe");
    },
  },
  device_reboot_after_offline_minutes: {
    network: { device_reboot_after_offline_minutes: 12 },
    shows: async (at) => {
      await at.pass(12 * MINUTE - 5_000);
      assert.equal(at.reboots, 0);
      await at.until(() => at.reboots === 1, 20_000);
    },
  },
  disable_bt_provisioning: {
    network: { disable_bt_provisioning: true },
    shows: async (at) => {
      at.hasBluetooth = true;
      await isServing(at);
      assert.equal(at.bluetooth, undefined);
    },
  },
  disable_wifi_provisioning: {
    network: { disable_wifi_provisioning: true },
    shows: async (at) => {
      at.hasBluetooth = true;
      await at.until(() => at.bluetooth !== undefined, 5 * MINUTE);
      await at.pass(MINUTE);
      assert.deepEqual([at.nm.isHotspot, at.site], [false, undefined]);
    },
  },
  disable_captive_portal_redirect: {
    network: { disable_captive_portal_redirect: true },
    shows: async (at) => {
      await isServing(at);
      assert.deepEqual([at.hasRedirects, at.onlySetup], [true, true]);
    },
  },
  bluetooth_trust_all: {
    network: { bluetooth_trust_all: true },
    shows: passedOn("bluetooth_trust_all", true),
  },
  bluetooth_service_brand: {
    network: { bluetooth_service_brand: "viam" },
    shows: passedOn("bluetooth_service_brand", "viam"),
  },
  fragment_id: {
    network: { fragment_id: "11111111-2222-3333-4444-555555555555" },
    shows: told("fragmentId", "11111111-2222-3333-4444-555555555555"),
  },
  manufacturer: { network: { manufacturer: "Acme" }, shows: told("manufacturer", "Acme") },
  model: { network: { model: "Rover 2" }, shows: told("model", "Rover 2") },
  hotspot_interface: {
    network: { hotspot_interface: "wlan9" },
    shows: async (at) => {
      await at.pass(5 * MINUTE, 1_000);
      assert.equal(at.nm.isHotspot, false, "not on another radio");
      at.settings = { network: { hotspot_interface: "wlan0" } };
      await isServing(at);
      const { connection } = profileWith(at, "ap");
      assert.equal(connection?.["interface-name"]?.value, "wlan0");
    },
  },
  hotspot_password: {
    network: { hotspot_password: "one-for-each" },
    shows: async (at) => {
      await isServing(at);
      assert.equal(profileWith(at, "ap")["802-11-wireless-security"]?.psk?.value, "one-for-each");
      assert.doesNotMatch(at.log.text(), /default password/);
    },
  },
  hotspot_prefix: {
    network: { hotspot_prefix: "acme" },
    shows: async (at) => {
      await isServing(at);
      const { ssid } = profileWith(at, "ap")["802-11-wireless"] ?? {};
      assert.equal(new TextDecoder().decode((ssid as Variant<Uint8Array>).value), "acme-rover");
    },
  },
  offline_before_starting_hotspot_minutes: {
    network: { offline_before_starting_hotspot_minutes: 4 },
    shows: async (at) => {
      await at.pass(4 * MINUTE - 1_000);
      assert.equal(at.nm.isHotspot, false);
      await at.until(() => at.nm.isHotspot, 3_000);
    },
  },
  retry_connection_timeout_minutes: {
    network: { retry_connection_timeout_minutes: 3 },
    shows: async (at) => {
      await isServing(at);
      const ms = await at.until(() => at.site === undefined, 5 * MINUTE);
      assert.ok(ms > 2.9 * MINUTE && ms < 3.2 * MINUTE, `${ms}`);
      await isServing(at);
    },
  },
  turn_on_hotspot_if_wifi_has_no_internet: {
    network: { turn_on_hotspot_if_wifi_has_no_internet: true },
    additional: { home: { type: "wifi", ...HOME } },
    shows: async (at) => {
      at.nm.air = [{ ...HOME, hasInternet: false }];
      await isServing(at);
    },
  },
  user_idle_minutes: {
    network: { user_idle_minutes: 2, retry_connection_timeout_minutes: 1 },
    shows: async (at) => {
      await isServing(at);
      at.site?.port.userActive();
      const ms = await at.until(() => at.site === undefined, 5 * MINUTE);
      assert.ok(ms > 1.9 * MINUTE && ms < 2.3 * MINUTE, `${ms}`);
    },
  },
  wifi_power_save: {
    network: { wifi_power_save: false },
    additional: { home: { type: "wifi", ...HOME } },
    shows: async (at) => {
      await at.until(() => at.nm.profiles.size === 1, MINUTE);
      // NM_SETTING_WIRELESS_POWERSAVE_DISABLE
      assert.equal(profileWith(at, "infrastructure")["802-11-wireless"]?.powersave?.value, 2);
    },
  },
};

for (const [field, { network, additional = {}, shows }] of Object.entries(EFFECTS)) {
  Deno.test(`network_configuration.${field} has its effect`, async () => {
    await using at = NetworkRig.create({ network, additional });
    at.start();
    await shows(at);
  });
}

const WIRED = { type: "wired", interface: "eth0", ipv4_address: "192.0.2.7/24" } as const;
type Place = readonly [section: string, key: string, value: unknown];

/** What each field becomes in NetworkManager's profile. */
const PLACES: Readonly<
  Record<keyof AdditionalNetwork, readonly [Partial<AdditionalNetwork>, ...Place[]]>
> = {
  type: [
    { type: "wired" },
    ["connection", "type", "802-3-ethernet"],
  ],
  interface: [WIRED, ["connection", "interface-name", "eth0"]],
  ssid: [{ type: "wifi", ...HOME }, ["802-11-wireless", "ssid", new TextEncoder().encode("Home")]],
  psk: [{ type: "wifi", ...HOME }, ["802-11-wireless-security", "psk", HOME.psk]],
  priority: [{ ...WIRED, priority: -7 }, ["connection", "autoconnect-priority", -7]],
  ipv4_address: [WIRED, ["ipv4", "method", "manual"], ["ipv4", "address-data", [
    { address: { signature: "s", value: "192.0.2.7" }, prefix: { signature: "u", value: 24 } },
  ]]],
  ipv4_gateway: [{ ...WIRED, ipv4_gateway: "192.0.2.1" }, ["ipv4", "gateway", "192.0.2.1"]],
  // The bytes of the address as a number of this host, which is little-endian.
  ipv4_dns: [{ ...WIRED, ipv4_dns: ["192.0.2.53"] }, ["ipv4", "dns", [0x350200c0]]],
  ipv4_route_metric: [{ ...WIRED, ipv4_route_metric: 5 }, ["ipv4", "route-metric", 5n]],
};

for (const [field, [network, ...places]] of Object.entries(PLACES)) {
  Deno.test(`additional_networks: ${field} is in the profile`, async () => {
    await using at = NetworkRig.create({ additional: { one: network } });
    at.start();
    await at.until(() => at.nm.profiles.size === 1, MINUTE);
    const [profile] = at.nm.profiles.values();
    for (const [section, key, value] of places) {
      const found = profile?.settings[section]?.[key]?.value;
      const plain = found instanceof Uint8Array ? new Uint8Array(found) : found;
      assert.deepEqual(plain, value, `${section}.${key}`);
    }
  });
}
