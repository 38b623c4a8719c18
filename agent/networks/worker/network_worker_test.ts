import assert from "node:assert/strict";
import { NetworkRig, type NetworkRig as Rig, type TestSettings } from "./worker_testing.ts";
import { noBus } from "../manager/fake_network_manager.ts";

const MINUTE = 60_000;
const bytes = (text: string) => new TextEncoder().encode(text);
const HOME = { ssid: "Home", psk: "correct horse" };

function networkTest(name: string, settings: TestSettings, run: (at: Rig) => Promise<void>) {
  Deno.test(name, async () => {
    await using rig = NetworkRig.create(settings);
    await run(rig);
  });
}

const choose = (at: Rig, ssid: string, psk: string, isHidden = false) => {
  const { site } = at;
  assert.ok(site, "the portal is there");
  site.port.stageNetwork({ ssid: bytes(ssid), psk, isHidden });
  site.port.commit();
};

networkTest("the hotspot is up within 2 s of the configured minute", {
  network: { offline_before_starting_hotspot_minutes: 3 },
}, async (at) => {
  at.start();
  await at.until(() => at.at === "offline", 10_000);
  const ms = await at.until(() => at.nm.isHotspot, 5 * MINUTE);
  const since = at.clock.monotonicMs();
  assert.ok(since >= 3 * MINUTE && since < 3 * MINUTE + 2_000, `after ${ms} ms, at ${since}`);
  await at.until(() => at.site !== undefined, 2_000);
  assert.equal(at.site?.name, "machine-setup-rover");
  assert.deepEqual(at.told, ["portal at 10.42.0.1"]);
  assert.match(at.log.text(), /default password/);
  await at.until(() => at.at === "provisioning", 10_000);
  assert.match(at.deps.report.value.detail, /machine-setup-rover is up on wlan0/);
  at.isWired = true;
  await at.until(() => at.at === "online", 30_000);
  assert.deepEqual([at.nm.isHotspot, at.told.at(-1)], [false, "portal ends"]);
  assert.equal(at.nm.profiles.size, 0, "nothing of the hotspot is left");
});

networkTest("a known network is tried before the hotspot, the best first", {
  additional: {
    low: { type: "wifi", ssid: "Low", psk: "password1", priority: 1 },
    best: { type: "wifi", ssid: "Best", psk: "password2", priority: 9 },
    away: { type: "wifi", ssid: "Away", psk: "password3", priority: 99 },
  },
  network: { turn_on_hotspot_if_wifi_has_no_internet: true },
}, async (at) => {
  at.nm.air = [{ ssid: "Low", psk: "password1" }, {
    ssid: "Best",
    psk: "password2",
    hasInternet: false,
  }];
  at.start();
  await at.until(() => at.nm.joined === "Best", MINUTE);
  await at.until(() => at.nm.joined === "Low", MINUTE);
  await at.until(() => at.at === "online", MINUTE);
  assert.equal(at.told.length, 0, "no hotspot in between");
});

networkTest("WiFi without internet is enough unless the settings say otherwise", {
  additional: { home: { type: "wifi", ...HOME } },
}, async (at) => {
  at.nm.air = [{ ...HOME, hasInternet: false }];
  at.start();
  await at.until(() => at.at === "online", MINUTE);
  assert.equal(at.deps.report.value.detail, "WiFi without internet");
});

networkTest("networks with WPA3 only and hidden ones are learned", {
  additional: {
    three: { type: "wifi", ssid: "Three", psk: "password3", priority: 1 },
    hidden: { type: "wifi", ssid: "Hidden", psk: "password4" },
  },
  network: { turn_on_hotspot_if_wifi_has_no_internet: true },
}, async (at) => {
  at.nm.air = [
    { ssid: "Three", psk: "password3", isSaeOnly: true, hasInternet: false },
    { ssid: "Hidden", psk: "password4", isHidden: true },
  ];
  at.start();
  await at.until(() => at.nm.joined === "Three", 2 * MINUTE);
  await at.until(() => at.nm.joined === "Hidden", 20 * MINUTE);
});

networkTest("a wrong password brings the hotspot back with the reason, then the right one works", {
  network: { hotspot_password: "not the default" },
}, async (at) => {
  at.nm.air = [HOME];
  at.start();
  await at.until(() => at.site !== undefined, 3 * MINUTE);
  assert.deepEqual(at.site?.port.networks().map(({ ssid }) => ssid), ["Home"]);
  choose(at, "Home", "wrong password");
  await at.until(() => at.site === undefined, 10_000);
  const ms = await at.until(() => at.site !== undefined, MINUTE);
  assert.ok(ms <= 30_000, `the reason is there after ${ms} ms`);
  const failed = at.site?.port.status();
  assert.equal(failed?.lastAttempt?.failure, "wrong-password");
  assert.match(failed?.errors[0] ?? "", /Home: The password is wrong/);
  assert.equal([...at.nm.profiles.values()].filter(({ isKept }) => isKept).length, 0);
  choose(at, "Home", HOME.psk);
  await at.until(() => at.at === "online", 30_000);
  assert.equal(at.nm.joined, "Home");
  assert.equal([...at.nm.profiles.values()].filter(({ isKept }) => isKept).length, 1);
  assert.doesNotMatch(at.log.text(), /correct horse|wrong password/, "no password in the log");
});

networkTest("a network without internet is told, and one that is not there", {}, async (at) => {
  at.nm.air = [{ ...HOME, hasInternet: false }];
  at.start();
  await at.until(() => at.site !== undefined, 3 * MINUTE);
  choose(at, "Home", HOME.psk);
  await at.until(() => at.site === undefined, 10_000);
  await at.until(() => at.site !== undefined, MINUTE);
  assert.equal(at.site?.port.status().lastAttempt?.failure, "no-internet");
  choose(at, "Nowhere", "");
  await at.until(() => at.site === undefined, 10_000);
  await at.until(() => at.site !== undefined, MINUTE);
  assert.equal(at.site?.port.status().lastAttempt?.failure, "not-found");
  choose(at, "Nowhere", "", true);
  await at.until(() => at.site === undefined, 10_000);
  await at.until(() => at.site !== undefined, MINUTE);
});

networkTest(
  "a machine without credentials begins with provisioning, and takes them once",
  {},
  async (at) => {
    at.hasCredentials = false;
    at.nm.air = [HOME];
    at.start();
    await at.until(() => at.site !== undefined, 20_000);
    const credentials = { appAddress: "https://c", partId: "p", key: { secret: "s" } };
    at.answer = "refused";
    at.site?.port.stageCredentials(credentials);
    choose(at, "Home", HOME.psk);
    await at.until(() => at.site === undefined, 10_000);
    await at.until(() => at.site !== undefined, MINUTE);
    assert.equal(at.site?.port.status().lastAttempt?.failure, "cloud-refused");
    assert.deepEqual(at.written, []);
    at.answer = "accepted";
    at.site?.port.stageCredentials(credentials);
    choose(at, "Home", HOME.psk);
    await at.until(() => at.at === "online", MINUTE);
    assert.deepEqual(at.written, [credentials]);
  },
);

networkTest("nobody on the hotspot replaces credentials that are there", {}, async (at) => {
  at.start();
  await at.until(() => at.site !== undefined, 3 * MINUTE);
  const credentials = { appAddress: "https://c", partId: "p", key: { secret: "s" } };
  assert.throws(() => at.site?.port.stageCredentials(credentials), /credentials already/);
  for (const [ssid, psk] of [["", ""], ["x".repeat(33), ""], ["x", "short"]] as const) {
    assert.throws(() => at.site?.port.stageNetwork({ ssid: bytes(ssid), psk, isHidden: false }));
  }
});

networkTest("a user keeps the hotspot up, and it ends for others when idle", {
  network: { user_idle_minutes: 4, retry_connection_timeout_minutes: 3 },
}, async (at) => {
  at.start();
  await at.until(() => at.site !== undefined, 3 * MINUTE);
  const { site } = at;
  for (let n = 0; n < 3; n++) {
    site?.port.userActive();
    await at.pass(2 * MINUTE);
    assert.equal(at.at, "user active");
  }
  assert.equal(at.site, site, "it never ended");
  await at.until(() => at.site === undefined, 4 * MINUTE);
  await at.until(() => at.site !== undefined, 2 * MINUTE);
});

networkTest("reboots come after their minutes, three of them, and are kept on disk", {
  network: { device_reboot_after_offline_minutes: 30 },
}, async (at) => {
  at.start();
  await at.until(() => at.reboots === 1, 31 * MINUTE, 5_000);
  await at.until(() => at.reboots === 3, 70 * MINUTE, 5_000);
  await at.pass(60 * MINUTE, 5_000);
  assert.equal(at.reboots, 3);
  assert.equal(at.deps.report.value.reboots, 3);
  const row = at.state.database.prepare<[], { reboots: number }>(
    "SELECT reboots FROM network_record",
  ).get();
  assert.equal(row?.reboots, 3);
});

networkTest("no reboot that cannot be counted, and none against the window", {
  network: { device_reboot_after_offline_minutes: 10 },
}, async (at) => {
  at.mayReboot = false;
  at.start();
  await at.pass(12 * MINUTE, 5_000);
  assert.equal(at.reboots, 0);
  at.mayReboot = true;
  at.state.database.exec("DROP TABLE network_record");
  await at.pass(12 * MINUTE, 5_000);
  assert.equal(at.reboots, 0);
  assert.match(at.log.text(), /could not be counted/);
});

networkTest("without NetworkManager it is said once, and networks begin when it comes", {
  additional: { home: { type: "wifi", ...HOME } },
}, async (at) => {
  at.openBus = noBus;
  at.start();
  await at.pass(5 * MINUTE);
  const { state, problems } = at.deps.report.value;
  assert.equal(state, "unavailable");
  assert.match(problems[0] ?? "", /^agent\.additional_networks has no effect: .*D-Bus/);
  assert.equal(at.log.messages("warn").length, 1);
  at.openBus = () => Promise.resolve(at.nm);
  at.nm.air = [HOME];
  await at.until(() => at.at === "online", 2 * MINUTE);
});

networkTest("an old NetworkManager is named", {}, async (at) => {
  at.nm.version = "1.14.6";
  at.start();
  await at.until(() => at.at === "unavailable", 10_000);
  assert.match(at.deps.report.value.detail, /1\.14\.6 is too old/);
});

networkTest("a message bus that restarts is got over", {
  additional: { home: { type: "wifi", ...HOME } },
}, async (at) => {
  at.nm.air = [HOME];
  at.start();
  await at.until(() => at.at === "online", MINUTE);
  const before = at.nm;
  const { FakeNetworkManager } = await import("../manager/fake_network_manager.ts");
  at.nm = new FakeNetworkManager();
  at.nm.air = [HOME];
  before.lose();
  await at.until(() => at.nm.joined === "Home", 2 * MINUTE);
  assert.equal(before.subscriptions.size, 0, "nothing of the old one is left");
});

networkTest("disable_network_configuration leaves everything alone and undoes nothing", {
  additional: { home: { type: "wifi", ...HOME } },
}, async (at) => {
  at.nm.air = [HOME];
  at.start();
  await at.until(() => at.at === "online", MINUTE);
  const profiles = at.nm.profiles.size;
  at.settings = { advanced: { disable_network_configuration: true } };
  await at.pass(MINUTE);
  await at.running;
  const calls = at.nm.calls.length;
  await at.pass(10 * MINUTE, 5_000);
  assert.equal(at.nm.calls.length, calls);
  assert.equal(at.nm.profiles.size, profiles);
});

networkTest("no radio, and an interface that vanishes, are problems and no end", {}, async (at) => {
  at.start();
  await at.until(() => at.nm.isHotspot, 3 * MINUTE);
  at.nm.drop();
  at.nm.devices = [at.nm.eth0];
  await at.until(() => at.at === "offline", MINUTE);
  at.nm.devices = [at.nm.wlan0, at.nm.eth0];
  await at.until(() => at.nm.isHotspot, 3 * MINUTE);
});

networkTest(
  "a machine that nothing can set up says where its credentials belong",
  {},
  async (at) => {
    at.hasCredentials = false;
    at.nm.devices = [at.nm.eth0];
    at.start();
    const says = () => at.deps.report.value.problems.join();
    await at.until(() => says() !== "", MINUTE);
    assert.match(
      says(),
      /no radio that may be used; put its credentials into \/etc\/machine\.json/,
    );
    assert.match(at.log.text(), /put its credentials into/);
    at.nm.devices = [at.nm.wlan0, at.nm.eth0];
    await at.until(() => says() === "", MINUTE);
    await at.until(() => at.nm.isHotspot, MINUTE);
  },
);

networkTest("a clock set back by a year changes nothing", {}, async (at) => {
  at.start();
  await at.pass(MINUTE);
  at.clock.setNow("2025-01-01T00:00:00Z");
  await at.until(() => at.nm.isHotspot, MINUTE + 2_000);
});
