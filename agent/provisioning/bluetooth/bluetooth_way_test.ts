import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { connectSystemBus } from "../../dbus/dbus_connection.ts";
import { DBusCallError } from "../../dbus/system_bus.ts";
import { visibleNetwork } from "../fake_provisioning.ts";
import { devicePath, FakeBluez } from "./fake_bluez.ts";
import { uuidOf } from "./identifiers.ts";
import { CREDENTIALS, PASSWORD, refusal, Rig, WAIT } from "./testing.ts";

const ignore = ignoreWithout(import.meta.url, "dbus");

Deno.test({
  name: "a phone's app, written from the published table alone, sets the machine up",
  ignore: ignore || ignoreWithout(import.meta.url, "python-cryptography"),
  fn: async () => {
    await using rig = await Rig.start();
    const { port, bluez } = rig;
    port.given = { hasCredentials: false, isOnline: true };
    port.errors = ["one", "two"];
    port.visible = [
      visibleNetwork("Home", { signal: 83 }),
      visibleNetwork("Café", { signal: 100, security: "open" }),
    ];
    await (await rig.begin({ bluetooth_service_brand: "viam" })).serving();
    const phone = new Deno.Command("/usr/bin/python3", {
      args: [
        fileURLToPath(new URL("testdata/phone.py", import.meta.url)),
        "viam",
        PASSWORD,
        "Home",
        "the wifi password",
        CREDENTIALS,
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const answers = phone.stdin.getWriter();
    let found: Record<string, unknown> = {};
    let text = "";
    for await (const piece of phone.stdout.pipeThrough(new TextDecoderStream())) {
      text += piece;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
        const question = JSON.parse(text.slice(0, end));
        text = text.slice(end + 1);
        if (question.op === "done") found = question.found;
        else await answers.write(new TextEncoder().encode(`${await answer(bluez, question)}\n`));
      }
    }
    await answers.close();
    assert.ok((await phone.status).success);
    assert.deepEqual(found, {
      service: bluez.service,
      status: 2,
      manufacturer: "Acme",
      model: "Rover <2>",
      fragment_id: "fragment-1",
      agent_version: "1.2.3",
      networks: [["Home", 83, true], ["Café", 100, false]],
      errors: true,
      wrong: "org.bluez.Error.NotAuthorized",
      writes: [null, null, null, null, null, null],
    });
    await rig.clock.advance(1_000);
    assert.equal(port.commits, 1);
    const ssid = new TextEncoder().encode("Home");
    assert.deepEqual(port.network, { ssid, psk: "the wifi password", isHidden: false });
    assert.equal(port.credentials?.appAddress, "https://cloud.test:8443");
    assert.ok(!rig.log.text().includes("the wifi password"));
    assert.ok(!rig.log.text().includes("the-part-secret"));
  },
});

async function answer(
  bluez: FakeBluez,
  { op, uuid, value = "" }: { op: string; uuid: string; value?: string },
): Promise<string> {
  try {
    if (op === "read") return JSON.stringify({ value: (await bluez.read(uuid)).toHex() });
    await bluez.write(uuid, Uint8Array.fromHex(value));
    return "{}";
  } catch (error) {
    assert.ok(error instanceof DBusCallError);
    return JSON.stringify({ error: error.errorName });
  }
}

Deno.test({
  name: "the machine is advertised by name and service, and everything is put back at the end",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    const { bluez } = rig;
    await (await rig.begin()).serving();
    assert.deepEqual(bluez.advertisement, {
      Type: "peripheral",
      ServiceUUIDs: [uuidOf("machine-provisioning")],
      LocalName: "machine-setup-rover-7",
      Discoverable: true,
    });
    assert.equal(bluez.service, uuidOf("machine-provisioning"));
    assert.deepEqual([bluez.properties["Powered"], bluez.properties["Alias"]], [
      true,
      "machine-setup-rover-7",
    ]);
    assert.deepEqual(bluez.flags.get(uuidOf("psk")), ["write", "write-without-response"]);
    assert.deepEqual(bluez.flags.get(uuidOf("status")), ["read", "notify"]);
    assert.equal(bluez.flags.size, 16);
    await rig.end();
    assert.deepEqual([bluez.properties["Powered"], bluez.properties["Alias"]], [false, "rover"]);
    assert.deepEqual([bluez.advertisement, bluez.application, bluez.agent], [
      undefined,
      undefined,
      undefined,
    ]);
  },
});

Deno.test({
  name: "the adapter gets back its own name, also when an agent was killed before",
  ignore,
  fn: async () => {
    for (const [before, after] of [["mine", "mine"], ["machine-setup-rover-7", "rover"]]) {
      await using rig = await Rig.start((bluez) => {
        Object.assign(bluez.properties, { Alias: before, Powered: true });
      });
      await (await rig.begin()).serving();
      await rig.end();
      assert.deepEqual([rig.bluez.properties["Powered"], rig.bluez.properties["Alias"]], [
        true,
        after,
      ]);
    }
  },
});

Deno.test({
  name: "values that nobody with the password wrote, or that are replayed, change nothing",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    const { bluez, port } = rig;
    await (await rig.begin()).serving();
    const exit = uuidOf("exit_provisioning");
    await rig.write("ssid", "Home");
    const wrong = "wrong password";
    assert.equal(
      await refusal(rig.write("exit_provisioning", "", devicePath(2), wrong)),
      "NotAuthorized",
    );
    assert.equal(
      await refusal(bluez.write(exit, new Uint8Array(256), devicePath(2))),
      "NotAuthorized",
    );
    for (const length of [0, 1, 255, 257, 512]) {
      assert.equal(await refusal(bluez.write(exit, new Uint8Array(length))), "InvalidValueLength");
    }
    const sealed = await rig.seal("Other");
    await bluez.write(uuidOf("ssid"), sealed);
    assert.equal(await refusal(bluez.write(uuidOf("ssid"), sealed)), "NotAuthorized");
    assert.equal(await refusal(bluez.write(uuidOf("status"), sealed)), "NotPermitted");
    assert.equal(await refusal(bluez.read(uuidOf("psk"))), "NotPermitted");
    await rig.clock.advance(5_000);
    assert.deepEqual([port.commits, port.network, port.active], [0, undefined, 2]);
  },
});

Deno.test({
  name: "guessing is slowed down for one device, and others go on",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    await (await rig.begin()).serving();
    for (let n = 0; n < 5; n++) {
      await refusal(rig.write("ssid", "x", devicePath(2), `wrong password ${n}`));
    }
    assert.equal(await refusal(rig.write("ssid", "x", devicePath(2))), "NotAuthorized");
    await rig.write("ssid", "x", devicePath(1));
    await rig.clock.advance(30_000);
    await rig.write("ssid", "x", devicePath(2));
  },
});

Deno.test({
  name: "what cannot be used is refused, and errors say why without a secret",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    const { bluez, port } = rig;
    await (await rig.begin()).serving();
    assert.equal(await refusal(rig.write("ssid", "")), "Failed");
    assert.equal(await refusal(rig.write("ssid", "é".repeat(17))), "Failed");
    assert.equal(await refusal(rig.write("unlock_pairing", "maybe")), "Failed");
    await rig.write("ssid", "Home");
    await rig.write("psk", "short");
    assert.equal(await refusal(rig.write("exit_provisioning", "1")), "Failed");
    await rig.write("psk", "long enough");
    await rig.write("api_key", "hush not json");
    assert.equal(await refusal(rig.write("exit_provisioning", "1")), "Failed");
    const errors = new TextDecoder().decode(await bluez.read(uuidOf("errors"))).split("\0");
    assert.match(errors[0] ?? "", /api_key is JSON/);
    assert.match(errors[1] ?? "", /fewer than 8/);
    assert.ok(!errors.join().includes("hush"));
    await rig.write("api_key", '{"id":"key-1","key":"value"}');
    await rig.write("id", "part-1");
    await rig.write("app_address", "https://cloud.test");
    await rig.write("exit_provisioning", "1");
    assert.deepEqual(port.credentials?.key, { id: "key-1", key: "value" });
    assert.equal((await bluez.read(uuidOf("errors"))).length, 0);
  },
});

Deno.test({
  name: "two phones do not mix their values, and long values come whole",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    const { bluez, port } = rig;
    await (await rig.begin()).serving();
    await rig.write("ssid", "First", devicePath(1));
    await rig.write("ssid", "Second", devicePath(2));
    await rig.write("psk", "of the first", devicePath(1));
    await rig.write("exit_provisioning", "", devicePath(1));
    assert.equal(new TextDecoder().decode(port.network?.ssid), "First");
    assert.equal(port.network?.psk, "of the first");
    port.visible = Array.from({ length: 40 }, (_, n) => visibleNetwork(`Network number ${n}`));
    const list = await bluez.read(uuidOf("networks"), devicePath(1), 22);
    assert.ok(list.length > 400 && list.length <= 512, `${list.length} bytes`);
    assert.equal(list.at(-1), 0);
    const key = await bluez.read(uuidOf("pub_key"), devicePath(1), 22);
    assert.equal(key.length, 294);
    await bluez.writeInPieces(uuidOf("ssid"), await rig.seal("In pieces"), 100);
    await rig.write("exit_provisioning", "");
    assert.equal(new TextDecoder().decode(port.network?.ssid), "In pieces");
  },
});

Deno.test({
  name: "phones that asked for it are told of changes",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    const { bluez, port } = rig;
    await (await rig.begin()).serving();
    const told: number[] = [];
    await bluez.notified(uuidOf("status"), (value) => told.push(value[0] ?? -1));
    await rig.clock.advance(2_000);
    port.given = { isOnline: true };
    await rig.clock.advance(2_000);
    await waitFor(() => told.length > 0, WAIT);
    assert.deepEqual(told, [3]);
  },
});

Deno.test({
  name: "a device pairs after unlock_pairing, one only, or always with bluetooth_trust_all",
  ignore,
  fn: async () => {
    {
      await using rig = await Rig.start();
      const { bluez } = rig;
      await (await rig.begin()).serving();
      assert.deepEqual([bluez.agent?.capability, bluez.agent?.isDefault], ["DisplayYesNo", true]);
      assert.equal(await refusal(bluez.pair(devicePath(1))), "Rejected");
      await rig.write("unlock_pairing", "true");
      await bluez.pair(devicePath(1));
      await waitFor(() => bluez.set.length > 0, WAIT);
      assert.deepEqual(bluez.set, [`${devicePath(1)} Trusted true`]);
      assert.equal(await refusal(bluez.pair(devicePath(2))), "Rejected");
      await rig.write("unlock_pairing", "1");
      await rig.write("unlock_pairing", "false");
      assert.equal(await refusal(bluez.pair(devicePath(3))), "Rejected");
      await rig.write("unlock_pairing", "1");
      await rig.clock.advance(5 * 60_000 + 1);
      assert.equal(await refusal(bluez.pair(devicePath(3))), "Rejected");
    }
    await using rig = await Rig.start();
    await (await rig.begin({ bluetooth_trust_all: true })).serving();
    for (const n of [1, 2, 3]) await rig.bluez.pair(devicePath(n));
  },
});

Deno.test({
  name: "without BlueZ, adapter or radio it says why once, and tries again forever",
  ignore,
  fn: async () => {
    const cases: [(bluez: FakeBluez) => void, RegExp][] = [
      [(bluez) => void (bluez.adapters = false), /no Bluetooth adapter/],
      [(bluez) => void (bluez.canAdvertise = false), /cannot advertise/],
      [(bluez) => void (bluez.isBlocked = true), /rfkill unblock bluetooth/],
    ];
    for (const [prepare, expected] of cases) {
      await using rig = await Rig.start(prepare);
      await rig.begin();
      for (let tries = 1; tries <= 4; tries++) {
        await waitFor(() => rig.opened === tries && rig.clock.pendingTimers === 1, WAIT);
        if (tries < 4) await rig.clock.advance(5 * 60_000);
      }
      assert.equal(rig.why().length, 1);
      assert.match(String(rig.why()[0]), expected);
      Object.assign(rig.bluez, { adapters: true, canAdvertise: true, isBlocked: false });
      await rig.clock.advance(5 * 60_000);
      await rig.serving();
    }
    await using rig = await Rig.start();
    await rig.bluez.end();
    await rig.begin();
    await waitFor(() => rig.why().length > 0, WAIT);
    assert.match(String(rig.why()[0]), /BlueZ is not there: install bluez/);
    await rig.bluez.again();
    await rig.clock.advance(5_000);
    await rig.serving();
  },
});

Deno.test({
  name: "it begins again after a restart of BlueZ, a lost adapter or advertisement, a dead bus",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    const { bluez, clock, log } = rig;
    const again = async (why: RegExp, break_: () => Promise<void> | void) => {
      await rig.serving();
      const before = log.entries.length;
      await break_();
      await waitFor(() => why.test(String(rig.why().at(-1))), WAIT);
      bluez.forget();
      Object.assign(bluez, { adapters: true });
      await waitFor(() => clock.pendingTimers === 1, WAIT);
      await clock.advance(5 * 60_000);
      await waitFor(
        () => log.entries.slice(before).some(({ message }) => message.startsWith("serving")),
        WAIT,
      );
    };
    await rig.begin();
    await again(/BlueZ has exited/, async () => {
      await bluez.end();
      await bluez.again();
    });
    await again(/adapter was removed/, () => bluez.removeAdapter());
    await again(/adapter was turned off/, () => bluez.powerOff());
    await again(/released the advertisement/, () => bluez.releaseAdvertisement());
    await rig.serving();
    await rig.bus.stop();
    await waitFor(() => /message bus was disconnected/.test(String(rig.why().at(-1))), WAIT);
  },
});

Deno.test({
  name: "a BlueZ that hangs times out and is retried, and keeps the end from nothing",
  ignore,
  fn: async () => {
    await using rig = await Rig.start((bluez) => bluez.hangs.add("RegisterApplication"));
    const { bluez, clock } = rig;
    await rig.begin({}, clock);
    await waitFor(() => bluez.properties["Alias"] === "machine-setup-rover-7", WAIT);
    await waitFor(async () => {
      await clock.advance(10_000);
      return rig.why().length > 0;
    }, WAIT);
    assert.match(String(rig.why()[0]), /did not answer within 10000 ms/);
    bluez.hangs.clear();
    await waitFor(async () => {
      await clock.advance(5_000);
      return rig.said("serving over Bluetooth");
    }, WAIT);
    bluez.hangs.add("Get");
    await waitFor(async () => {
      await clock.advance(5_000);
      return rig.why().includes("BlueZ does not answer any more");
    }, WAIT);
    bluez.hangs.clear();
    const lines = rig.log.entries.length;
    await waitFor(async () => {
      await clock.advance(5_000);
      return rig.log.entries.slice(lines).some(({ message }) => message.startsWith("serving"));
    }, WAIT);
    for (const member of ["UnregisterAgent", "UnregisterAdvertisement", "Get", "Set"]) {
      bluez.hangs.add(member);
    }
    const ended = rig.end();
    let isOver = false;
    void ended.then(() => isOver = true);
    let waitedMs = 0;
    await waitFor(async () => {
      if (isOver) return true;
      await clock.advance(1_000);
      waitedMs += 1_000;
      return false;
    }, WAIT);
    await ended;
    assert.ok(waitedMs <= 4_000, `the end took ${waitedMs} ms of a BlueZ that hangs`);
  },
});

Deno.test({
  name: "nobody but BlueZ may read or write on the bus",
  ignore,
  fn: async () => {
    await using rig = await Rig.start();
    await (await rig.begin()).serving();
    const stranger = await connectSystemBus({ clock: systemClock, address: rig.bus.address });
    const { sender, path } = rig.bluez.application ?? assert.fail();
    const call = stranger.call({
      destination: sender,
      path,
      interface: "org.freedesktop.DBus.ObjectManager",
      member: "GetManagedObjects",
    });
    assert.equal(await refusal(call), "NotAuthorized");
    stranger.close();
  },
});
