/**
 * The table of the networks' states: what each event means in each of them. Nothing here acts; the
 * effects are carried out by who holds the record.
 */
import {
  CONNECT_MS,
  GRACE_MS,
  type Look,
  type Moment,
  MOST_REBOOTS,
  type NetworkEffect,
  type NetworkEvent,
  type NetworkRecord,
  type NetworkState,
  type NetworkStateKind,
  REBOOT_REST_MS,
  REBOOT_TAKES_MS,
  SETTLE_MS,
  STEADY_MS,
  TRY_MS,
  VERIFY_MS,
} from "./network_state.ts";

/** The record after an event, and what is to be done now, in this order. */
export interface Step {
  readonly record: NetworkRecord;
  readonly effects: readonly NetworkEffect[];
}

type StateOf<K extends NetworkStateKind> = Extract<NetworkState, { kind: K }>;
type EventOf<T extends NetworkEvent["type"]> = Extract<NetworkEvent, { type: T }>;
type Turn = readonly [NetworkState, ...NetworkEffect[]];
type Handler<K extends NetworkStateKind, T extends NetworkEvent["type"]> = (
  state: StateOf<K>,
  event: EventOf<T>,
  moment: Moment,
  record: NetworkRecord,
) => Turn | undefined;
type AnyHandler = (
  state: never,
  event: never,
  moment: Moment,
  record: NetworkRecord,
) => Turn | undefined;
type Row<K extends NetworkStateKind> = {
  readonly [T in NetworkEvent["type"]]?: Handler<K, T>;
};

const ONLINE: NetworkState = { kind: "online" };
const START: NetworkEffect = { type: "start-provisioning" };
const STOP: NetworkEffect = { type: "stop-provisioning" };
const APPLY: NetworkEffect = { type: "apply" };
const REBOOT: NetworkEffect = { type: "reboot" };
const verdict = (result: Extract<NetworkEffect, { type: "verdict" }>["result"]): NetworkEffect => ({
  type: "verdict",
  result,
});

/** A usable network is there: nothing more to set up. */
const isReady = (look: Look) => look.isOnline && look.hasCredentials;

const offline = (
  waitUntilMs: number,
  left: readonly string[] | "in reach",
  isRetry: boolean,
): NetworkState => ({
  kind: "offline",
  waitUntilMs,
  left,
  isRetry,
});

const provisioning = ({ nowMs, rules }: Moment): NetworkState => ({
  kind: "provisioning",
  untilMs: nowMs + rules.retryMs,
});

const trying = (left: readonly string[], isRetry: boolean, { nowMs }: Moment): Turn => {
  const [label = "", ...rest] = left;
  const state = { kind: "trying", label, deadlineMs: nowMs + TRY_MS, left: rest, isRetry } as const;
  return [state, { type: "try", label }];
};

/** Of the networks in reach, those after the one that was tried; all when it is new. */
const tryNext = (
  { left, isRetry }: { readonly left: readonly string[]; readonly isRetry: boolean },
  moment: Moment,
): Turn =>
  left.length > 0
    ? trying(left, isRetry, moment)
    : [offline(moment.nowMs + (isRetry ? 0 : moment.rules.retryMs), [], isRetry)];

const table: { readonly [K in NetworkStateKind]: Row<K> } = {
  online: {
    looked: (_, { look }, moment) => {
      if (isReady(look)) return undefined;
      if (!look.hasCredentials && look.canProvision) return [provisioning(moment), START];
      return [offline(moment.nowMs + GRACE_MS, [], false)];
    },
  },
  offline: {
    looked: (state, { look }, moment, record) => {
      if (isReady(look)) return [ONLINE];
      if (isRebootDue(look, moment, record)) return [state, REBOOT];
      const isWaited = moment.nowMs >= state.waitUntilMs;
      if (state.isRetry) {
        const left = state.left === "in reach" ? look.candidates : state.left;
        if (isWaited && left.length > 0) return trying(left, true, moment);
        if (!look.canProvision) return [offline(state.waitUntilMs, [], false)];
        return isWaited ? [provisioning(moment), START] : undefined;
      }
      if (look.canProvision && isProvisioningDue(look, moment, record)) {
        return [provisioning(moment), START];
      }
      if (!isWaited || look.candidates.length === 0) return undefined;
      return trying(look.candidates, false, moment);
    },
  },
  trying: {
    looked: (state, { look }, moment, record) => {
      if (isReady(look)) return [ONLINE];
      const giveUp: NetworkEffect = { type: "give-up", label: state.label };
      const isDue = !state.isRetry && look.canProvision &&
        isProvisioningDue(look, moment, record);
      if (isDue) return [provisioning(moment), giveUp, START];
      if (moment.nowMs < state.deadlineMs) return undefined;
      const [after, ...effects] = tryNext(state, moment);
      return [after, giveUp, ...effects];
    },
    tried: (state, event, moment) => {
      if (event.label !== state.label) return undefined;
      if (!event.isConnected) return tryNext(state, moment);
      const { label, left, isRetry } = state;
      const deadlineMs = moment.nowMs + VERIFY_MS;
      return [{ kind: "verifying", deadlineMs, of: "candidate", label, left, isRetry }];
    },
  },
  provisioning: {
    looked: (state, { look }, moment, record) => {
      if (isReady(look)) return [ONLINE, STOP];
      if (!look.canProvision) return [offline(moment.nowMs + GRACE_MS, [], false), STOP];
      if (isRebootDue(look, moment, record)) return [state, REBOOT];
      // Without credentials no other network is of any use.
      if (moment.nowMs < state.untilMs || !look.hasCredentials) return undefined;
      return [offline(moment.nowMs + SETTLE_MS, "in reach", true), STOP];
    },
    "user-active": ({ untilMs }, _, { nowMs, rules }) => [
      { kind: "user-active", untilMs, idleMs: nowMs + rules.userIdleMs },
    ],
    committed: (_, __, { nowMs }) => [
      { kind: "connecting", deadlineMs: nowMs + CONNECT_MS },
      STOP,
      APPLY,
    ],
  },
  "user-active": {
    looked: ({ untilMs, idleMs }, { look }, { nowMs }) => {
      if (isReady(look)) return [ONLINE, STOP];
      if (!look.canProvision) return [offline(nowMs + GRACE_MS, [], false), STOP];
      return nowMs < idleMs ? undefined : [{ kind: "provisioning", untilMs }];
    },
    "user-active": ({ untilMs }, _, { nowMs, rules }) => [
      { kind: "user-active", untilMs, idleMs: nowMs + rules.userIdleMs },
    ],
    committed: (_, __, { nowMs }) => [
      { kind: "connecting", deadlineMs: nowMs + CONNECT_MS },
      STOP,
      APPLY,
    ],
  },
  connecting: {
    looked: (state, { look }, moment) => {
      if (moment.nowMs < state.deadlineMs) return undefined;
      if (isReady(look)) return [ONLINE, verdict("online")];
      return [...again(look, moment), verdict("timeout")];
    },
    applied: (_, { isConnected }, moment) => {
      // What comes next looks first whether provisioning is possible at all.
      if (!isConnected) return [offline(moment.nowMs, [], true), verdict("no-connection")];
      const deadlineMs = moment.nowMs + VERIFY_MS;
      return [{ kind: "verifying", deadlineMs, of: "person", label: "", left: [], isRetry: true }];
    },
  },
  verifying: {
    looked: (state, { look }, moment) => {
      const isPersons = state.of === "person";
      if (isReady(look)) return isPersons ? [ONLINE, verdict("online")] : [ONLINE];
      if (moment.nowMs < state.deadlineMs) return undefined;
      if (isPersons) return [...again(look, moment), verdict("no-internet")];
      const [after, ...effects] = tryNext(state, moment);
      return [after, { type: "give-up", label: state.label }, ...effects];
    },
  },
};

/** Back to who waits in front of the machine. */
function again(look: Look, moment: Moment): Turn {
  return look.canProvision
    ? [provisioning(moment), START]
    : [offline(moment.nowMs + GRACE_MS, [], false)];
}

function isProvisioningDue(look: Look, { nowMs, rules }: Moment, record: NetworkRecord): boolean {
  if (!look.hasCredentials) return true;
  return nowMs - (record.offlineSinceMs ?? nowMs) >= rules.offlineBeforeProvisioningMs;
}

/** Never before the machine belongs to somebody: a boot loop would be all that it does. */
function isRebootDue(look: Look, { nowMs, rules }: Moment, record: NetworkRecord): boolean {
  const { offlineSinceMs, reboots, rebootAskedMs } = record;
  if (rules.rebootAfterOfflineMs === 0 || !look.hasCredentials || !look.mayReboot) return false;
  if (rebootAskedMs !== undefined && nowMs - rebootAskedMs < REBOOT_TAKES_MS) return false;
  const afterMs = reboots < MOST_REBOOTS
    ? rules.rebootAfterOfflineMs
    : Math.max(rules.rebootAfterOfflineMs, REBOOT_REST_MS);
  // A restart that was requested and did not happen counts like one that did.
  const sinceMs = Math.max(offlineSinceMs ?? nowMs, rebootAskedMs ?? -Infinity);
  return nowMs - sinceMs >= afterMs;
}

/** What an event means. One that means nothing in a state leaves that very record. */
export function next(record: NetworkRecord, event: NetworkEvent, moment: Moment): Step {
  const counted = event.type === "looked" ? countTime(record, event.look, moment) : record;
  const row: { readonly [type: string]: AnyHandler | undefined } = table[counted.state.kind];
  const turn = row[event.type]?.(counted.state as never, event as never, moment, counted);
  if (!turn) return { record: counted, effects: [] };
  const [state, ...effects] = turn;
  const isReboot = effects.includes(REBOOT);
  return {
    record: {
      ...counted,
      state,
      ...(isReboot ? { reboots: counted.reboots + 1, rebootAskedMs: moment.nowMs } : {}),
    },
    effects,
  };
}

function countTime(record: NetworkRecord, look: Look, { nowMs }: Moment): NetworkRecord {
  if (!look.isOnline) {
    if (record.offlineSinceMs !== undefined) return record;
    return { ...record, offlineSinceMs: nowMs, onlineSinceMs: undefined };
  }
  const onlineSinceMs = record.onlineSinceMs ?? nowMs;
  const isSteady = nowMs - onlineSinceMs >= STEADY_MS;
  const reboots = isSteady ? 0 : record.reboots;
  const isSame = record.offlineSinceMs === undefined && record.onlineSinceMs === onlineSinceMs &&
    record.reboots === reboots;
  return isSame ? record : { ...record, offlineSinceMs: undefined, onlineSinceMs, reboots };
}

/** When the record changes by time alone, at the latest; Infinity: never. */
export function dueMs({ state, offlineSinceMs }: NetworkRecord, { rules }: Moment): number {
  const provisioningMs = (offlineSinceMs ?? Infinity) + rules.offlineBeforeProvisioningMs;
  switch (state.kind) {
    case "online":
      return Infinity;
    case "offline":
      return Math.min(state.waitUntilMs, state.isRetry ? Infinity : provisioningMs);
    case "trying":
      return Math.min(state.deadlineMs, state.isRetry ? Infinity : provisioningMs);
    case "provisioning":
      return state.untilMs;
    case "user-active":
      return state.idleMs;
    case "connecting":
    case "verifying":
      return state.deadlineMs;
  }
}
