import assert from "node:assert/strict";
import { ignoreBecause } from "../../../shared/test_tools/skips.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { AdditionalNetwork } from "../../../shared/config/agent_fields.ts";
import { NetworkManager, NoNetworkManager } from "./network_manager.ts";
import { hotspotProfile, managedNetwork, profileOf } from "./profile.ts";
import { NetworkManagerRig, noNetworkManagerBecause } from "./testing.ts";

const ignore = ignoreBecause(import.meta.url, noNetworkManagerBecause());
const DEADLINE = { deadlineMs: 60_000 };

const WIRED: AdditionalNetwork = {
  type: "wired",
  interface: "eth0",
  ssid: "",
  psk: "",
  priority: 7,
  ipv4_address: "192.0.2.7/24",
  ipv4_gateway: "192.0.2.1",
  ipv4_dns: ["192.0.2.53"],
  ipv4_route_metric: 0,
};
const profile = (changes: Partial<AdditionalNetwork> = {}) =>
  profileOf(managedNetwork("office", { ...WIRED, ...changes }, { powerSave: null }));

function managerTest(
  name: string,
  run: (manager: NetworkManager, rig: NetworkManagerRig) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using rig = await NetworkManagerRig.start();
      await run(await NetworkManager.open(rig.bus), rig);
    },
  });
}

managerTest("devices() lists wired interfaces with their state", async (manager) => {
  const devices = await manager.devices();
  const eth0 = devices.find((device) => device.interface === "eth0");
  assert.deepEqual([eth0?.type, eth0?.active], ["wired", undefined]);
  assert.equal(devices.some((device) => device.interface === "lo"), false);
});

managerTest("a wired profile gets its address, gateway and metric", async (manager) => {
  const path = await manager.addProfile(profile(), true);
  const eth0 = async () =>
    (await manager.devices()).find((device) => device.interface === "eth0") ??
      assert.fail("no eth0");
  await waitFor(async () => (await eth0()).state === 100, DEADLINE);
  const { active = "" } = await eth0();
  assert.equal(await manager.activeProfile(active), path);
  assert.equal(await manager.activeState(active), 2);
  const [own] = await manager.ownProfiles();
  assert.equal(own?.label, "office");
  assert.equal(own?.settings.ipv4?.["route-metric"]?.value, 100n);
  assert.equal(own?.settings.connection?.["autoconnect-priority"]?.value, 7);
  await manager.deleteProfile(path);
  await manager.deleteProfile(path);
  await waitFor(async () => (await eth0()).active === undefined, DEADLINE);
  assert.deepEqual(await manager.ownProfiles(), []);
});

managerTest("ownProfiles() leaves out what somebody else made", async (manager, rig) => {
  const { user: _, ...foreign } = profile();
  await manager.addProfile({ ...foreign, user: {} }, true);
  assert.deepEqual(await manager.ownProfiles(), []);
  const files = [...Deno.readDirSync(rig.profilesFolder)].map((entry) => entry.name);
  assert.equal(files.length, 1);
});

managerTest("addProfile() takes profiles of WiFi and of the hotspot", async (manager) => {
  const wifi = { type: "wifi", interface: "", ssid: "Café ☕", psk: "correct horse" } as const;
  for (const psk of ["correct horse", ""]) {
    const network = { ...WIRED, ...wifi, psk };
    const settings = profileOf(managedNetwork(`wifi ${psk}`, network, { powerSave: false }));
    await manager.addProfile(settings, true);
  }
  await manager.addProfile(
    hotspotProfile({
      ssid: new TextEncoder().encode("machine-setup-host"),
      interface: "wlan0",
      password: "machinesetup",
      address: "10.42.0.1/24",
    }),
    false,
  );
  const own = await manager.ownProfiles();
  assert.deepEqual(own.map(({ label }) => label).sort(), [
    "@hotspot",
    "wifi ",
    "wifi correct horse",
  ]);
});

managerTest(
  "withSecrets() brings the key of a profile, so that it can be put back",
  async (manager) => {
    const wifi = { type: "wifi", interface: "", ssid: "Home", psk: "correct horse" } as const;
    const settings = (psk: string) =>
      profileOf(managedNetwork("home", { ...WIRED, ...wifi, psk }, { powerSave: false }));
    const path = await manager.addProfile(settings("correct horse"), true);
    const own = async () => (await manager.ownProfiles())[0] ?? assert.fail("no profile");
    const key = async () =>
      (await manager.withSecrets(await own()))?.["802-11-wireless-security"]?.psk?.value;
    assert.equal(await key(), "correct horse");
    const before = await manager.withSecrets(await own()) ?? assert.fail("no secrets");
    await manager.updateProfile(path, settings("wrong password"), false);
    assert.equal(await key(), "wrong password");
    await manager.updateProfile(path, before, true);
    assert.equal(await key(), "correct horse");
    assert.equal((await own()).settings["802-11-wireless-security"]?.psk, undefined);
  },
);

managerTest("a checkpoint that nobody keeps takes the changes back", async (manager) => {
  const before = await manager.addProfile(profile(), true);
  await waitFor(async () => (await manager.state()) >= 50, DEADLINE);
  const checkpoint = await manager.checkpoint(6);
  await manager.updateProfile(before, profile({ ipv4_address: "198.51.100.9/24" }), true);
  const address = async () => {
    const [own] = await manager.ownProfiles();
    const data = own?.settings.ipv4?.["address-data"]?.value as
      | { address: { value: string } }[]
      | undefined;
    return data?.[0]?.address.value;
  };
  assert.equal(await address(), "198.51.100.9");
  await waitFor(async () => await address() === "192.0.2.7", DEADLINE);
  assert.equal(await manager.keepChanges(checkpoint), false);
});

managerTest("keepChanges() keeps what changed since the checkpoint", async (manager) => {
  const path = await manager.addProfile(profile(), true);
  const checkpoint = await manager.checkpoint(600);
  await manager.updateProfile(path, profile({ priority: 9 }), true);
  assert.equal(await manager.keepChanges(checkpoint), true);
  const [own] = await manager.ownProfiles();
  assert.equal(own?.settings.connection?.["autoconnect-priority"]?.value, 9);
});

managerTest("open() says what to do when NetworkManager went away", async (_, rig) => {
  await rig.killManager();
  await waitFor(
    () =>
      NetworkManager.open(rig.bus).then(() => false, (error) => error instanceof NoNetworkManager),
    DEADLINE,
  );
});
