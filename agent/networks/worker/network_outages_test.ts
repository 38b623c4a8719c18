import assert from "node:assert/strict";
import { NetworkRig } from "./worker_testing.ts";

const MINUTE = 60_000;
const HOME = { ssid: "Home", psk: "correct horse" };
const OUTAGES = 10_000;

Deno.test("10,000 outages leave no timer, match, profile or checkpoint behind", async () => {
  await using at = NetworkRig.create({
    additional: { home: { type: "wifi", ...HOME } },
    network: { turn_on_hotspot_if_wifi_has_no_internet: true },
  });
  at.nm.air = [HOME];
  at.start();
  const until = (state: string, ms: number) => at.until(() => at.at === state, ms, 2_000);
  await until("online", 2 * MINUTE);
  /** The cloud, NetworkManager, the agent ends it, or it lasts until the hotspot is up. */
  const outage = async (kind: "uplink" | "short" | "tried" | "hotspot") => {
    if (kind === "tried" || kind === "hotspot") at.nm.air = [];
    if (kind === "uplink") at.nm.air = [{ ...HOME, hasInternet: false }];
    else at.nm.drop();
    at.deps.cloudAnswered.value = false;
    await until("offline", MINUTE);
    if (kind === "hotspot") await until("provisioning", 10 * MINUTE);
    at.nm.air = [HOME];
    if (kind === "short") at.nm.reconnect();
    if (kind === "short" || kind === "uplink") {
      at.deps.cloudAnswered.value = true;
    }
    await until("online", 30 * MINUTE);
    at.deps.cloudAnswered.value = true;
  };
  const rest = () => ({
    timers: at.clock.pendingTimers,
    matches: at.nm.subscriptions.size,
    profiles: at.nm.profiles.size,
    onDisk: at.nm.store.disk.size,
    checkpoints: at.nm.store.checkpoints.size,
    redirects: at.hasRedirects,
    ways: at.site,
  });
  for (const kind of ["uplink", "short", "tried", "hotspot"] as const) await outage(kind);
  const before = rest();
  for (let n = 1; n <= OUTAGES; n++) {
    await outage(
      n % 100 === 0 ? "hotspot" : n % 20 === 0 ? "tried" : n % 5 === 0 ? "short" : "uplink",
    );
  }
  assert.deepEqual(rest(), before);
  const begun = at.told.filter((line) => line.startsWith("portal at")).length;
  assert.equal(begun, OUTAGES / 100 + 1);
  assert.equal(at.told.length, 2 * begun, "each hotspot that began has ended");
});
