import assert from "node:assert/strict";
import { FileError } from "../../../shared/base/files/fs_error.ts";
import { NetworkRig, type TestSettings } from "./worker_testing.ts";

const MINUTE = 60_000;
const HOME = { ssid: "Home", psk: "correct horse" };
const KNOWS_HOME: TestSettings = { additional: { home: { type: "wifi", ...HOME } } };
const bytes = (text: string) => new TextEncoder().encode(text);

function faultTest(
  name: string,
  settings: TestSettings,
  run: (at: NetworkRig) => Promise<void>,
): void {
  Deno.test(name, async () => {
    await using rig = NetworkRig.create(settings);
    await run(rig);
  });
}

const isThere = (at: NetworkRig) => at.until(() => at.site !== undefined, 5 * MINUTE);

const choose = (at: NetworkRig, ssid: Uint8Array, psk: string, isHidden = false) => {
  at.site?.port.stageNetwork({ ssid, psk, isHidden });
  at.site?.port.commit();
};

const says = (at: NetworkRig) => at.deps.report.value.problems.join("; ");
/** How often the log has a line with this. */
const lines = (at: NetworkRig, part: string) =>
  at.log.text().split("\n").filter((line) => line.includes(part)).length;

faultTest(
  "a NetworkManager that hangs is named, and used again when it answers",
  KNOWS_HOME,
  async (at) => {
    at.nm.air = [HOME];
    at.start();
    await at.until(() => at.at === "online", MINUTE);
    at.nm.isHanging = true;
    await at.until(() => at.at === "unavailable", 2 * MINUTE);
    assert.match(
      says(at),
      /NetworkManager does not run here|NetworkManager does not answer: .* within/,
    );
    at.nm.isHanging = false;
    await at.until(() => at.at === "online", 2 * MINUTE);
    assert.equal(at.nm.subscriptions.size, 1);
  },
);

faultTest(
  "a NetworkManager that hangs is named while the cloud answers, too",
  KNOWS_HOME,
  async (at) => {
    at.nm.air = [HOME];
    at.deps.cloudAnswered.value = true;
    at.start();
    await at.until(() => at.at === "online", MINUTE);
    await at.pass(5 * MINUTE);
    at.nm.isHanging = true;
    await at.until(() => at.at === "unavailable", MINUTE);
    assert.match(says(at), /NetworkManager does not (run here|answer)/);
    at.nm.isHanging = false;
    await at.until(() => at.at === "online", 2 * MINUTE);
  },
);

faultTest(
  "a NetworkManager that hangs while a hotspot is up leaves none behind",
  {},
  async (at) => {
    at.nm.air = [HOME];
    at.start();
    await isThere(at);
    at.nm.isHanging = true;
    await at.until(() => at.at === "unavailable", 5 * MINUTE);
    assert.equal(at.site, undefined, "the portal has ended");
    at.isWired = true;
    at.nm.isHanging = false;
    await at.until(() => at.at === "online", 3 * MINUTE);
    await at.until(() => at.nm.profiles.size === 0, MINUTE);
    assert.equal(at.nm.isHotspot, false);
  },
);

faultTest("a NetworkManager that hangs while a person's network is joined", {}, async (at) => {
  at.nm.air = [HOME];
  at.start();
  await isThere(at);
  at.nm.onCall = (member, when) => {
    if (member !== "ActivateConnection" || when === "before") return;
    at.nm.isHanging = true;
    at.nm.onCall = () => {};
  };
  choose(at, bytes("Home"), HOME.psk);
  await at.until(() => at.nm.isHanging, MINUTE);
  await at.until(() => at.at === "unavailable", 5 * MINUTE);
  at.nm.isHanging = false;
  await at.until(() => at.at === "online", 3 * MINUTE);
});

faultTest("a radio that rfkill blocks is named once, and used when it is free", {}, async (at) => {
  at.nm.wlan0.state = 20;
  at.start();
  await at.until(() => says(at).includes("rfkill"), 5 * MINUTE);
  assert.match(says(at), /wlan0 is switched off \(rfkill or a hardware switch\)/);
  await at.pass(10 * MINUTE, 1_000);
  assert.equal(lines(at, "is switched off"), 1);
  assert.ok(at.nm.calls.includes("Set"), "what software switched off is switched on");
  at.nm.wlan0.state = 30;
  await isThere(at);
  assert.doesNotMatch(says(at), /rfkill/);
});

faultTest("a radio that vanishes while it joins: the person is told why", {}, async (at) => {
  at.nm.air = [HOME];
  at.start();
  await isThere(at);
  at.nm.onCall = (member, when) => {
    if (member === "ActivateConnection" && when === "after") {
      at.nm.drop();
      at.nm.devices = [at.nm.eth0];
    }
  };
  choose(at, bytes("Home"), HOME.psk);
  await at.until(() => at.at === "offline", MINUTE);
  assert.equal(at.nm.profiles.size, 0, "nothing of the try is left");
  at.nm.onCall = () => {};
  at.nm.devices = [at.nm.wlan0, at.nm.eth0];
  await isThere(at);
  assert.match(at.site?.port.status().errors.join() ?? "", /Home: The interface was removed/);
});

faultTest("a network whose name is 32 bytes that are no text", {}, async (at) => {
  const odd = Uint8Array.from(
    { length: 32 },
    (_, n) => [0, 0xff, 0xc3, 0x27, 0x22, 0x0a][n % 6] ?? 0,
  );
  at.nm.air = [{ ssid: odd, psk: HOME.psk }];
  at.start();
  await isThere(at);
  const [seen] = at.site?.port.networks() ?? [];
  assert.deepEqual(seen?.ssidBytes, odd);
  choose(at, seen?.ssidBytes ?? odd, HOME.psk);
  await at.until(() => at.at === "online", MINUTE);
});

faultTest("access points of one name are one network, and its strongest counts", {}, async (at) => {
  at.nm.air = [
    { ...HOME, strength: 20 },
    { ...HOME, strength: 80 },
    { ...HOME, strength: 50 },
  ];
  at.start();
  await isThere(at);
  const seen = at.site?.port.networks().map(({ ssid, signal }) => [ssid, signal]);
  assert.deepEqual(seen, [["Home", 80]]);
  choose(at, bytes("Home"), HOME.psk);
  await at.until(() => at.at === "online", MINUTE);
});

faultTest("a scan that finds nothing: a network can be named", {}, async (at) => {
  at.start();
  await isThere(at);
  assert.deepEqual(at.site?.port.networks(), []);
  at.nm.air = [{ ...HOME, isHidden: true }];
  choose(at, bytes("Home"), HOME.psk, true);
  await at.until(() => at.at === "online", MINUTE);
});

faultTest(
  "a radio that has not looked around yet does so before it is a hotspot",
  {},
  async (at) => {
    at.hasCredentials = false;
    at.nm.air = [HOME];
    at.nm.lastScan = -1n;
    at.start();
    await at.pass(2_000);
    assert.equal(at.nm.isHotspot, false);
    assert.ok(at.nm.calls.includes("RequestScan"));
    at.nm.lastScan = 5n;
    await isThere(at);
    await at.pass(MINUTE);
    assert.deepEqual(at.site?.port.networks().map(({ ssid }) => ssid), ["Home"]);
  },
);

faultTest("a radio that is slow to become an access point forgets no network", {}, async (at) => {
  at.hasCredentials = false;
  at.nm.air = [HOME];
  at.nm.hotspotIsUp = false;
  at.start();
  await at.pass(15_000);
  assert.equal(at.told.length, 0);
  at.nm.hotspotIsUp = true;
  await isThere(at);
  assert.deepEqual(at.site?.port.networks().map(({ ssid }) => ssid), ["Home"]);
});

faultTest("who goes away in the middle has not meant it", {
  network: { user_idle_minutes: 1, retry_connection_timeout_minutes: 2 },
}, async (at) => {
  at.nm.air = [HOME];
  at.start();
  await isThere(at);
  at.site?.port.userActive();
  at.site?.port.stageNetwork({ ssid: bytes("Home"), psk: HOME.psk, isHidden: false });
  await at.until(() => at.site === undefined, 5 * MINUTE);
  await isThere(at);
  at.site?.port.commit();
  await at.pass(2 * MINUTE, 1_000);
  assert.equal(at.nm.joined === "Home", false);
  assert.equal(at.nm.store.disk.size, 0);
});

faultTest("two phones at once: one network is tried, and both hear of it", {}, async (at) => {
  at.nm.air = [HOME, { ssid: "Other", psk: HOME.psk }];
  at.start();
  await isThere(at);
  choose(at, bytes("Home"), "wrong password");
  choose(at, bytes("Other"), HOME.psk);
  await at.until(() => at.at === "online", MINUTE);
  assert.equal(at.nm.joined, "Other", "the last one counts");
  assert.equal(at.nm.store.disk.size, 1);
});

faultTest(
  "a password mistyped for a network that worked: its old one counts again",
  {},
  async (at) => {
    at.nm.air = [HOME];
    at.start();
    await isThere(at);
    choose(at, bytes("Home"), HOME.psk);
    await at.until(() => at.at === "online", MINUTE);
    at.nm.air = [];
    at.nm.drop();
    await isThere(at);
    at.nm.air = [HOME];
    choose(at, bytes("Home"), "wrong password");
    await at.until(() => at.site === undefined, MINUTE);
    await isThere(at);
    assert.match(at.site?.port.status().errors.join() ?? "", /Home: /);
    assert.equal(at.nm.store.disk.size, 1, "the network is known still");
    await at.until(() => at.nm.joined === "Home", 30 * MINUTE, 1_000);
  },
);

faultTest("a disk that is full is said once, and networks go on", KNOWS_HOME, async (at) => {
  at.nm.air = [];
  at.start();
  await at.pass(10_000);
  at.takesWrites = false;
  await isThere(at);
  at.nm.air = [HOME];
  choose(at, bytes("Home"), HOME.psk);
  await at.until(() => at.at === "online", MINUTE);
  assert.match(says(at), /state cannot be kept on disk/);
  await at.pass(10 * MINUTE, 1_000);
  assert.equal(lines(at, "cannot be kept on disk"), 1);
  at.takesWrites = true;
  at.nm.drop();
  at.nm.air = [];
  await at.until(() => !says(at).includes("on disk"), 2 * MINUTE);
  assert.equal(lines(at, "is kept on disk again"), 1);
});

faultTest("credentials that cannot be written: the person is told why", {}, async (at) => {
  at.hasCredentials = false;
  at.nm.air = [HOME];
  at.onWrite = () => {
    const text = "/etc/machine.json cannot be written: no space left on device";
    throw new FileError(text, "ENOSPC", "/etc/machine.json", undefined);
  };
  at.start();
  await isThere(at);
  at.site?.port.stageCredentials({ appAddress: "https://c", partId: "p", key: { secret: "s" } });
  choose(at, bytes("Home"), HOME.psk);
  await at.until(() => at.site === undefined, MINUTE);
  await isThere(at);
  assert.match(at.site?.port.status().errors.join() ?? "", /no space left on device/);
  at.onWrite = () => {};
  choose(at, bytes("Home"), HOME.psk);
  await at.until(() => at.at === "online" && at.written.length === 1, MINUTE);
});

faultTest("a clock that is set back by a year changes nothing, in no state", {
  network: { user_idle_minutes: 2, retry_connection_timeout_minutes: 3 },
}, async (at) => {
  const back = () => at.clock.setNow(at.clock.now().getTime() - 365 * 24 * 60 * MINUTE);
  at.nm.air = [HOME];
  at.start();
  await at.pass(MINUTE);
  back();
  const ms = await at.until(() => at.site !== undefined, 2 * MINUTE);
  assert.ok(ms <= MINUTE + 2_000, `${ms}`);
  at.site?.port.userActive();
  await at.until(() => at.at === "user active", 10_000);
  back();
  await at.until(() => at.at === "provisioning", 2 * MINUTE + 10_000);
  choose(at, bytes("Home"), HOME.psk);
  await at.until(() => at.site === undefined, 10_000);
  back();
  await at.until(() => at.at === "online", MINUTE);
});
