import assert from "node:assert/strict";
import {
  GRACE_MS,
  initialRecord,
  type Look,
  MOST_REBOOTS,
  type NetworkEvent,
  type NetworkRecord,
  type NetworkRules,
  type NetworkState,
  REBOOT_REST_MS,
  REBOOT_TAKES_MS,
  SETTLE_MS,
  STEADY_MS,
  TRY_MS,
  VERIFY_MS,
} from "./network_state.ts";
import { dueMs, next, type Step } from "./table.ts";

const MINUTE = 60_000;
const RULES: NetworkRules = {
  offlineBeforeProvisioningMs: 2 * MINUTE,
  retryMs: 10 * MINUTE,
  userIdleMs: 5 * MINUTE,
  rebootAfterOfflineMs: 0,
};
const NOW = 1_000_000;
const AWAY: Look = {
  isOnline: false,
  hasCredentials: true,
  canProvision: true,
  candidates: [],
  mayReboot: true,
};
const READY: Look = { ...AWAY, isOnline: true };

const looked = (look: Partial<Look> = {}): NetworkEvent => ({
  type: "looked",
  look: { ...AWAY, ...look },
});
const record = (state: NetworkState, rest: Partial<NetworkRecord> = {}): NetworkRecord => ({
  ...initialRecord(NOW),
  state,
  ...rest,
});
const step = (
  from: NetworkRecord,
  event: NetworkEvent,
  nowMs = NOW,
  rules: Partial<NetworkRules> = {},
): Step => next(from, event, { nowMs, rules: { ...RULES, ...rules } });
const told = ({ record: { state }, effects }: Step) =>
  [
    state.kind,
    ...effects.map((effect) =>
      effect.type === "verdict"
        ? effect.result
        : "label" in effect
        ? `${effect.type} ${effect.label}`
        : effect.type
    ),
  ].join(" ");

const STATES = {
  online: record({ kind: "online" }, { offlineSinceMs: undefined, onlineSinceMs: NOW }),
  offline: record({ kind: "offline", waitUntilMs: NOW, left: [], isRetry: false }),
  retry: record({ kind: "offline", waitUntilMs: NOW, left: ["b"], isRetry: true }),
  trying: record({
    kind: "trying",
    label: "a",
    deadlineMs: NOW + TRY_MS,
    left: ["b"],
    isRetry: false,
  }),
  provisioning: record({ kind: "provisioning", untilMs: NOW + 10 * MINUTE }),
  userActive: record({ kind: "user-active", untilMs: NOW + MINUTE, idleMs: NOW + 5 * MINUTE }),
  connecting: record({ kind: "connecting", deadlineMs: NOW + MINUTE }),
  verifying: record({
    kind: "verifying",
    deadlineMs: NOW + VERIFY_MS,
    of: "candidate",
    label: "a",
    left: ["b"],
    isRetry: false,
  }),
  persons: record({
    kind: "verifying",
    deadlineMs: NOW + VERIFY_MS,
    of: "person",
    label: "",
    left: [],
    isRetry: true,
  }),
} as const;

const EVENTS = {
  ready: looked(READY),
  away: looked(),
  seen: looked({ candidates: ["a", "b"] }),
  noWay: looked({ canProvision: false }),
  bare: looked({ hasCredentials: false }),
  bareOnline: looked({ isOnline: true, hasCredentials: false }),
  connected: { type: "tried", label: "a", isConnected: true },
  failed: { type: "tried", label: "a", isConnected: false },
  otherFailed: { type: "tried", label: "z", isConnected: false },
  user: { type: "user-active" },
  committed: { type: "committed" },
  applied: { type: "applied", isConnected: true },
  notApplied: { type: "applied", isConnected: false },
} as const satisfies Record<string, NetworkEvent>;

/** Each state × each event; what is not named leaves the state and does nothing. */
const TABLE: {
  readonly [S in keyof typeof STATES]: Partial<Record<keyof typeof EVENTS, string>>;
} = {
  online: {
    away: "offline",
    seen: "offline",
    noWay: "offline",
    bare: "provisioning start-provisioning",
    bareOnline: "provisioning start-provisioning",
  },
  offline: {
    ready: "online",
    seen: "trying try a",
    bare: "provisioning start-provisioning",
    bareOnline: "provisioning start-provisioning",
  },
  retry: {
    ready: "online",
    away: "trying try b",
    seen: "trying try b",
    noWay: "trying try b",
    bare: "trying try b",
    bareOnline: "trying try b",
  },
  trying: {
    ready: "online",
    bare: "provisioning give-up a start-provisioning",
    bareOnline: "provisioning give-up a start-provisioning",
    connected: "verifying",
    failed: "trying try b",
  },
  provisioning: {
    ready: "online stop-provisioning",
    noWay: "offline stop-provisioning",
    user: "user-active",
    committed: "connecting stop-provisioning apply",
  },
  userActive: {
    ready: "online stop-provisioning",
    noWay: "offline stop-provisioning",
    committed: "connecting stop-provisioning apply",
  },
  connecting: { applied: "verifying", notApplied: "offline no-connection" },
  verifying: { ready: "online" },
  persons: { ready: "online online" },
};

Deno.test("next() does what the table says for each state and event", () => {
  for (const [name, from] of Object.entries(STATES)) {
    const row: Partial<Record<string, string>> = TABLE[name as keyof typeof STATES];
    for (const [event, value] of Object.entries(EVENTS)) {
      const expected = row[event] ?? from.state.kind;
      assert.equal(told(step(from, value)), expected, `${name} × ${event}`);
    }
  }
});

Deno.test("provisioning begins at the configured minute and not before", () => {
  const start = initialRecord(NOW);
  const rules = { offlineBeforeProvisioningMs: 3 * MINUTE };
  const early = step(start, looked(), NOW + 3 * MINUTE - 1, rules);
  assert.equal(told(early), "offline");
  const moment = { nowMs: NOW, rules: { ...RULES, ...rules } };
  assert.equal(
    dueMs(
      { ...start, state: { ...STATES.offline.state, waitUntilMs: Infinity } as NetworkState },
      moment,
    ),
    NOW + 3 * MINUTE,
  );
  assert.equal(
    told(step(early.record, looked(), NOW + 3 * MINUTE, rules)),
    "provisioning start-provisioning",
  );
  assert.equal(
    told(step(STATES.trying, looked(), NOW + 2 * MINUTE)),
    "provisioning give-up a start-provisioning",
  );
});

Deno.test("NetworkManager has some seconds to connect by itself before networks are tried", () => {
  const lost = step(STATES.online, looked({ candidates: ["a"] }));
  assert.equal(told(lost), "offline");
  const before = step(lost.record, looked({ candidates: ["a"] }), NOW + GRACE_MS - 1);
  assert.equal(told(before), "offline");
  assert.equal(
    told(step(before.record, looked({ candidates: ["a"] }), NOW + GRACE_MS)),
    "trying try a",
  );
});

Deno.test("networks are tried one after the other, and again after the retry time", () => {
  const second = step(STATES.trying, EVENTS.failed);
  assert.equal(told(second), "trying try b");
  const late = step(second.record, looked({ canProvision: false }), NOW + TRY_MS);
  assert.equal(told(late), "offline give-up b");
  const seen = looked({ canProvision: false, candidates: ["a"] });
  assert.equal(told(step(late.record, seen, NOW + TRY_MS + RULES.retryMs - 1)), "offline");
  assert.equal(told(step(late.record, seen, NOW + TRY_MS + RULES.retryMs)), "trying try a");
});

Deno.test("a network without internet is left for the next one", () => {
  const connected = step(STATES.trying, EVENTS.connected);
  assert.equal(told(step(connected.record, looked(), NOW + VERIFY_MS - 1)), "verifying");
  assert.equal(told(step(connected.record, looked(), NOW + VERIFY_MS)), "trying give-up a try b");
});

Deno.test("provisioning ends for other connections, and begins again when nothing changed", () => {
  const ended = step(STATES.provisioning, looked({ candidates: ["a"] }), NOW + 10 * MINUTE);
  assert.equal(told(ended), "offline stop-provisioning");
  const at = NOW + 10 * MINUTE + SETTLE_MS;
  assert.equal(told(step(ended.record, looked(), at - 1)), "offline");
  const tried = step(ended.record, looked({ candidates: ["a"] }), at);
  assert.equal(told(tried), "trying try a");
  const failed = step(tried.record, EVENTS.failed, at + 1);
  assert.equal(told(failed), "offline");
  assert.equal(told(step(failed.record, looked(), at + 2)), "provisioning start-provisioning");
});

Deno.test("provisioning without credentials has no end of its own", () => {
  const bare = looked({ hasCredentials: false, candidates: ["a"] });
  assert.equal(told(step(STATES.provisioning, bare, NOW + 60 * MINUTE)), "provisioning");
});

Deno.test("a user keeps provisioning going until idle", () => {
  const active = step(STATES.provisioning, EVENTS.user, NOW + 9 * MINUTE);
  assert.equal(told(step(active.record, looked(), NOW + 13 * MINUTE)), "user-active");
  const still = step(active.record, EVENTS.user, NOW + 13 * MINUTE);
  assert.equal(told(step(still.record, looked(), NOW + 18 * MINUTE - 1)), "user-active");
  const idle = step(still.record, looked(), NOW + 18 * MINUTE);
  assert.equal(told(idle), "provisioning");
  assert.equal(told(step(idle.record, looked(), NOW + 18 * MINUTE)), "offline stop-provisioning");
});

Deno.test("what a person gave ends with a verdict", () => {
  const late = step(STATES.connecting, looked(), NOW + MINUTE);
  assert.equal(told(late), "provisioning start-provisioning timeout");
  const nothing = step(STATES.persons, looked(), NOW + VERIFY_MS);
  assert.equal(told(nothing), "provisioning start-provisioning no-internet");
  const failed = step(STATES.connecting, EVENTS.notApplied);
  assert.equal(told(step(failed.record, looked())), "provisioning start-provisioning");
});

const REBOOTS = { rebootAfterOfflineMs: 30 * MINUTE };
const DUE = NOW + 30 * MINUTE;

Deno.test("a reboot comes after its minutes, counted before it is done", () => {
  const away = record(STATES.provisioning.state);
  assert.equal(told(step(away, looked(), DUE - 1, REBOOTS)), "offline stop-provisioning");
  const due = step(away, looked(), DUE, REBOOTS);
  assert.equal(told(due), "provisioning reboot");
  assert.deepEqual([due.record.reboots, due.record.rebootAskedMs], [1, DUE]);
  assert.equal(told(step(STATES.offline, looked(), DUE, REBOOTS)), "offline reboot");
  assert.notEqual(told(step(away, looked(), DUE)), "provisioning reboot");
});

Deno.test("no reboot while a user is active, the window is closed or nobody owns it", () => {
  const active = record({ kind: "user-active", untilMs: NOW, idleMs: DUE + 1 });
  assert.equal(told(step(active, looked(), DUE, REBOOTS)), "user-active");
  const closed = looked({ mayReboot: false });
  assert.doesNotMatch(told(step(STATES.offline, closed, DUE, REBOOTS)), /reboot/);
  const bare = looked({ hasCredentials: false });
  assert.doesNotMatch(told(step(STATES.provisioning, bare, DUE, REBOOTS)), /reboot/);
});

Deno.test("after the third reboot there is one a day until the machine was online", () => {
  const worn = { ...STATES.offline, reboots: MOST_REBOOTS };
  assert.doesNotMatch(told(step(worn, looked(), DUE, REBOOTS)), /reboot/);
  assert.equal(told(step(worn, looked(), NOW + REBOOT_REST_MS, REBOOTS)), "offline reboot");
  const online = step(worn, looked(READY)).record;
  assert.equal(step(online, looked(READY), NOW + STEADY_MS - 1).record.reboots, MOST_REBOOTS);
  assert.equal(step(online, looked(READY), NOW + STEADY_MS).record.reboots, 0);
});

Deno.test("a reboot that does not happen is asked for again, and counts", () => {
  const asked = step(STATES.offline, looked(), DUE, REBOOTS).record;
  const soon = step(asked, looked(), DUE + REBOOT_TAKES_MS, REBOOTS);
  assert.doesNotMatch(told(soon), /reboot/);
  const again = step(
    { ...soon.record, state: STATES.offline.state },
    looked(),
    DUE + 30 * MINUTE,
    REBOOTS,
  );
  assert.equal(again.record.reboots, 2);
});
