import assert from "node:assert/strict";
import {
  initialRecord,
  type Look,
  MOST_REBOOTS,
  type NetworkEvent,
  type NetworkRecord,
  type NetworkRules,
  REBOOT_REST_MS,
  STEADY_MS,
} from "./network_state.ts";
import { next } from "./table.ts";

const MINUTE = 60_000;
const EVENTS = 100_000;
/** More than every wait of the table in a row: retry, settling, five networks, provisioning. */
const SETTLED_MS = 90 * MINUTE;

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class World {
  nowMs = 0;
  record: NetworkRecord = initialRecord(0);
  isProvisioning = false;
  /** Reboots since the machine was steadily online last, with their times. */
  reboots: number[] = [];
  seen = new Set<string>();
  #onlineSinceMs: number | undefined;

  constructor(readonly random: () => number, public rules: NetworkRules) {}

  event(look: Look): NetworkEvent {
    const { random } = this;
    const dice = random();
    const label = "abcde".charAt(Math.floor(random() * 5));
    if (dice < 0.6) return { type: "looked", look };
    if (dice < 0.7) return { type: "tried", label, isConnected: random() < 0.3 };
    if (dice < 0.8) return { type: "user-active" };
    if (dice < 0.9) return { type: "committed" };
    return { type: "applied", isConnected: random() < 0.5 };
  }

  look(): Look {
    const { random } = this;
    return {
      isOnline: random() < 0.3,
      hasCredentials: random() < 0.8,
      canProvision: random() < 0.8,
      candidates: [..."abcde"].filter(() => random() < 0.3),
      mayReboot: random() < 0.5,
    };
  }

  /** One event and what must hold for it. */
  feed(event: NetworkEvent): void {
    const before = this.record;
    const { nowMs, rules } = this;
    const { record, effects } = next(before, event, { nowMs, rules });
    this.record = record;
    this.seen.add(`${before.state.kind} → ${record.state.kind}`);
    for (const effect of effects) {
      if (effect.type === "start-provisioning") {
        assert.equal(this.isProvisioning, false, "it is up already");
        this.isProvisioning = true;
      }
      if (effect.type === "stop-provisioning") {
        assert.equal(this.isProvisioning, true, "it is not up");
        this.isProvisioning = false;
      }
      if (effect.type === "reboot") this.#checkReboot(before, event);
    }
    const { kind } = this.record.state;
    assert.equal(this.isProvisioning, kind === "provisioning" || kind === "user-active");
    if (event.type !== "looked") return;
    const isReady = event.look.isOnline && event.look.hasCredentials;
    if (isReady) assert.ok(!this.isProvisioning, "a usable network is there");
    this.#onlineSinceMs = event.look.isOnline ? this.#onlineSinceMs ?? nowMs : undefined;
    if (nowMs - (this.#onlineSinceMs ?? nowMs) >= STEADY_MS) this.reboots = [];
  }

  #checkReboot(before: NetworkRecord, event: NetworkEvent): void {
    assert.ok(event.type === "looked" && event.look.mayReboot && event.look.hasCredentials);
    assert.ok(!event.look.isOnline);
    assert.ok(["offline", "provisioning"].includes(before.state.kind), before.state.kind);
    assert.ok(this.rules.rebootAfterOfflineMs > 0);
    this.reboots.push(this.nowMs);
    const rest = this.reboots.slice(MOST_REBOOTS - 1);
    for (const [index, at] of rest.entries()) {
      if (index > 0) assert.ok(at - (rest[index - 1] ?? 0) >= REBOOT_REST_MS, "one a day");
    }
    // The host reboots: its clock and the record begin again, the count is kept.
    if (this.random() < 0.7) this.restart(0);
  }

  restart(offlineForMs: number): void {
    this.isProvisioning = false;
    this.record = initialRecord(this.nowMs, { offlineForMs, reboots: this.record.reboots });
  }
}

Deno.test("100,000 random events keep every promise of the table", () => {
  const random = randomOf(20260101);
  const rules = (): NetworkRules => ({
    offlineBeforeProvisioningMs: MINUTE * (1 + Math.floor(random() * 5)),
    retryMs: MINUTE * (1 + Math.floor(random() * 20)),
    userIdleMs: MINUTE * (1 + Math.floor(random() * 10)),
    rebootAfterOfflineMs: random() < 0.5 ? 0 : MINUTE * (1 + Math.floor(random() * 60)),
  });
  const world = new World(random, rules());
  let look = world.look();
  for (let n = 0; n < EVENTS; n++) {
    world.nowMs += random() < 0.02 ? random() * 40 * MINUTE : random() * 20_000;
    if (random() < 0.05) look = world.look();
    if (random() < 0.001) world.rules = rules();
    if (random() < 0.001) world.restart(random() * 10 * MINUTE);
    // Constant worlds are as hard as busy ones: reboots happen in them only.
    if (random() < 0.0005) {
      look = { ...look, isOnline: false, hasCredentials: true, mayReboot: true };
    }
    world.feed(world.event(look));
    if (n % 500 === 0) assertNotStuck(world);
  }
  assert.ok(world.seen.size >= 25, `transitions seen: ${[...world.seen].sort().join(", ")}`);
});

/** From here, a world that stays as it is ends where it must. */
function assertNotStuck(world: World): void {
  for (const hasCredentials of [true, false]) {
    for (const isOnline of [true, false]) {
      const look: Look = {
        isOnline,
        hasCredentials,
        canProvision: true,
        candidates: ["a"],
        mayReboot: false,
      };
      let { record } = world;
      let nowMs = world.nowMs;
      const kinds = new Set<string>();
      for (const end = nowMs + SETTLED_MS; nowMs < end; nowMs += 5_000) {
        record = next(record, { type: "looked", look }, { nowMs, rules: world.rules }).record;
        kinds.add(record.state.kind);
      }
      if (isOnline && hasCredentials) assert.equal(record.state.kind, "online");
      else assert.ok(kinds.has("provisioning"), `never provisioned: ${[...kinds]}`);
    }
  }
}
