import assert from "node:assert/strict";
import { ignoreBecause } from "../../../shared/test_tools/skips.ts";
import { getProperties } from "../dbus/system_bus.ts";
import { NetworkManagerRig, noNetworkManagerBecause } from "./testing.ts";

const ignore = ignoreBecause(import.meta.url, noNetworkManagerBecause());
const NAME = "org.freedesktop.NetworkManager";

Deno.test({
  name: "a real NetworkManager manages the wired interface of its namespace",
  ignore,
  async fn() {
    await using rig = await NetworkManagerRig.start();
    const [path] = await rig.bus.call({
      destination: NAME,
      path: "/org/freedesktop/NetworkManager",
      interface: NAME,
      member: "GetDeviceByIpIface",
      signature: "s",
      body: ["eth0"],
    });
    const device = await getProperties(rig.bus, NAME, String(path), `${NAME}.Device`);
    assert.deepEqual([device.Interface, device.Managed], ["eth0", true]);
  },
});
