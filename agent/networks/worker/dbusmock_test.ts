/** WiFi as python-dbusmock's NetworkManager shows it on a real message bus: not our own fake. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { connectSystemBus } from "../../dbus/dbus_connection.ts";
import { setProperty, variant } from "../../dbus/system_bus.ts";
import { PrivateBus } from "../../dbus/testing.ts";
import { NetworkManager } from "../manager/network_manager.ts";
import { ssidKey, visibleNetworks } from "../wifi/visible_networks.ts";
import { joinNetwork } from "./join_network.ts";

const TEMPLATE = fileURLToPath(new URL("testdata/radio.py", import.meta.url));
const ignore = ignoreWithout(import.meta.url, "dbus", "dbusmock");
const NAME = "org.freedesktop.NetworkManager";
const CHOSEN = { ssid: new TextEncoder().encode("Café"), isHidden: false };

async function withMock(run: (manager: NetworkManager) => Promise<void>): Promise<void> {
  await using messages = await PrivateBus.start();
  const mock = new Deno.Command("/usr/bin/python3", {
    args: ["-m", "dbusmock", "--system", "--template", TEMPLATE],
    env: { DBUS_SYSTEM_BUS_ADDRESS: messages.address },
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const bus = await connectSystemBus({ clock: systemClock, address: messages.address });
  try {
    const opened = () => NetworkManager.open(bus).catch(() => undefined);
    const manager = await waitFor(opened, { deadlineMs: 60_000, what: "dbusmock" });
    const tell = (member: string, signature: string, ...body: unknown[]) =>
      bus.call({
        destination: NAME,
        path: "/org/freedesktop",
        interface: "org.freedesktop.DBus.Mock",
        member,
        signature,
        body,
      });
    const [radio] = await tell("AddWiFiDevice", "ssu", "radio", "wlan0", 30);
    const wireless = `${NAME}.Device.Wireless`;
    await bus.call({
      destination: NAME,
      path: String(radio),
      interface: "org.freedesktop.DBus.Mock",
      member: "AddProperty",
      signature: "ssv",
      body: [wireless, "LastScan", variant("x", -1n)],
    });
    await setProperty(bus, NAME, String(radio), wireless, "LastScan", variant("x", 7n));
    const psk = 0x100 | 0x8;
    const add = (name: string, ssid: string, strength: number, security: number) =>
      tell(
        "AddAccessPoint",
        "ssssuuuyu",
        ...[radio, name, ssid, "02:00:00:00:00:01", 2, 2412, 54_000, strength, security],
      );
    await add("one", "Café", 40, psk);
    await add("two", "Café", 80, psk);
    await add("free", "Free", 60, 0);
    await run(manager);
  } finally {
    bus.close();
    mock.kill("SIGKILL");
    await mock.status;
  }
}

Deno.test({
  name: "a scan of dbusmock's radio: names, strengths and security",
  ignore,
  fn: () =>
    withMock(async (manager) => {
      const [radio] = await manager.devices();
      assert.deepEqual([radio?.interface, radio?.type, radio?.state], ["wlan0", "wifi", 30]);
      assert.ok(radio);
      await manager.requestScan(radio, [CHOSEN.ssid]);
      assert.equal(await manager.lastScan(radio), 7);
      const seen = visibleNetworks(await manager.accessPoints(radio), {
        known: new Set([ssidKey(CHOSEN.ssid)]),
        without: new Set(),
      });
      assert.deepEqual(
        seen.map(({ ssid, security, signal, isKnown }) => [ssid, security, signal, isKnown]),
        [["Café", "wpa2", 80, true], ["Free", "open", 60, false]],
      );
    }),
});

Deno.test({
  name: "joinNetwork() on dbusmock's radio: a wrong password leaves nothing, the right one stays",
  ignore,
  fn: () =>
    withMock(async (manager) => {
      const limits = { clock: systemClock, signal: new AbortController().signal };
      const join = async (psk: string) => {
        const [radio] = await manager.devices();
        return await joinNetwork(manager, { ...CHOSEN, psk }, radio, null, limits);
      };
      assert.equal((await join("wrong password"))?.kind, "wrong-password");
      assert.deepEqual(await manager.ownProfiles(), []);
      assert.equal(await join("correct horse"), undefined);
      const [own] = await manager.ownProfiles();
      assert.match(own?.label ?? "", /^@person-/);
      const checkpoint = await manager.checkpoint(60);
      await manager.rollBack(checkpoint);
      assert.equal(await manager.keepChanges(checkpoint), true);
    }),
});
