import assert from "node:assert/strict";
import { HOTSPOT_LABEL, labelOf } from "../manager/profile.ts";
import { NetworkRig, type TestSettings } from "./worker_testing.ts";

const MINUTE = 60_000;
const HOME = { ssid: "Home", psk: "correct horse" };
const CREDENTIALS = { appAddress: "https://c", partId: "p", key: { secret: "s" } };
const home = (psk: string, priority = 0): TestSettings => ({
  additional: { home: { type: "wifi", ssid: "Home", psk, priority } },
});
/** Calls that change something; between two of them the agent's own database is all that differs. */
const STEPS = new Set([
  ...["AddConnection2", "Update2", "Delete", "ActivateConnection", "DeactivateConnection"],
  ...["CheckpointCreate", "CheckpointDestroy", "CheckpointRollback", "Set"],
]);

type Course = (at: NetworkRig) => Promise<void>;

/** Cuts the power before or after each step of `flow`, one run each. @returns how many there are. */
async function atEveryStep(
  settings: TestSettings,
  { before, flow, afterwards }: Record<"before" | "flow" | "afterwards", Course>,
): Promise<number> {
  for (let cut = 1;; cut++) {
    await using at = NetworkRig.create(settings);
    let steps = 0;
    const step = () => {
      if (++steps === cut) throw at.cutPower();
    };
    at.start();
    await before(at);
    at.nm.onCall = (member) => {
      if (STEPS.has(member) && !at.isPowerCut) step();
    };
    at.onWrite = step;
    await flow(at).catch((error: unknown) => {
      if (!at.isPowerCut) throw error;
    });
    if (!at.isPowerCut) return steps;
    at.onWrite = () => {};
    await at.powerUp();
    try {
      await afterwards(at);
    } catch (error) {
      throw new Error(`cut at step ${cut}: ${error}`, { cause: error });
    }
    await at.until(() => at.at === "online", 3 * MINUTE);
    assert.equal(at.hasRedirects, false, `cut at step ${cut}`);
    assert.equal(at.nm.store.checkpoints.size, 0, `cut at step ${cut}`);
    const labels = [...at.nm.profiles.values()].map(({ settings }) => labelOf(settings));
    assert.ok(!labels.includes(HOTSPOT_LABEL), `cut at step ${cut}`);
    assert.equal(labels.length, 1, `cut at step ${cut}: ${labels}`);
    assert.equal(at.nm.store.disk.size, 1, `cut at step ${cut}`);
  }
}

async function isOnline(at: NetworkRig): Promise<void> {
  at.nm.air = [HOME];
  await at.until(() => at.at === "online", MINUTE);
}

const says = (at: NetworkRig, problem: string) =>
  at.deps.report.value.problems.join().includes(problem);

Deno.test("power cut at every step of a person's setting up: it goes on, or can be done again", async () => {
  const setUp = async (at: NetworkRig) => {
    await at.until(() => at.site !== undefined || at.isPowerCut, 3 * MINUTE);
    if (!at.hasCredentials) at.site?.port.stageCredentials(CREDENTIALS);
    at.site?.port.stageNetwork({
      ssid: new TextEncoder().encode(HOME.ssid),
      psk: HOME.psk,
      isHidden: false,
    });
    at.site?.port.commit();
    await at.until(() => at.at === "online" || at.isPowerCut, 2 * MINUTE);
  };
  const steps = await atEveryStep({}, {
    before: (at) => {
      at.hasCredentials = false;
      at.nm.air = [HOME];
      return Promise.resolve();
    },
    flow: setUp,
    afterwards: async (at) => {
      await at.until(() => at.at === "online" || at.site !== undefined, 3 * MINUTE);
      if (at.site) await setUp(at);
    },
  });
  assert.ok(steps >= 16, `${steps} steps`);
});

Deno.test("power cut at every step of a wrong change: the network that works is there again", async () => {
  const steps = await atEveryStep(home(HOME.psk), {
    before: isOnline,
    flow: async (at) => {
      at.settings = home("a wrong password", 5);
      await at.until(() => says(at, "home is not in use") || at.isPowerCut, 3 * MINUTE);
    },
    afterwards: async (at) => {
      // As after a power cut of the whole building: the router is slower than the machine.
      const { air } = at.nm;
      at.nm.air = [];
      await at.pass(MINUTE);
      at.nm.air = air;
      await at.until(() => at.nm.joined === "Home", 5 * MINUTE);
      await at.until(() => says(at, "home is not in use"), 5 * MINUTE);
    },
  });
  assert.ok(steps >= 8, `${steps} steps`);
});

Deno.test("power cut at every step of a removal that costs the connection", async () => {
  const steps = await atEveryStep(home(HOME.psk), {
    before: isOnline,
    flow: async (at) => {
      at.settings = {};
      await at.until(() => says(at, "home is kept") || at.isPowerCut, 3 * MINUTE);
    },
    afterwards: async (at) => {
      await at.until(() => at.nm.joined === "Home", 5 * MINUTE);
      await at.until(() => says(at, "home is kept"), 5 * MINUTE);
    },
  });
  assert.ok(steps >= 4, `${steps} steps`);
});
