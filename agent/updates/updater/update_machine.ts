/**
 * The life of an update as a table: what each event means in each state. Nothing here acts. Each
 * state has one activity (see updater.ts), which may be begun again at any time: after a power cut
 * the agent reads the state and begins its activity again.
 */
import type { InstalledVersion } from "../../state/agent_state.ts";
import type { BadVersion, Candidate, ProgramRecord, Trial, UpdateState } from "./record.ts";
import {
  isSameTarget,
  isVersionOf,
  type Target,
  targetKey,
  targetOf,
  versionName,
  versionOfFile,
} from "./target.ts";

export type UpdateEvent =
  /** The cloud wants this; undefined: it names nothing. */
  | { readonly type: "target"; readonly target: Target | undefined }
  | { readonly type: "fetched"; readonly installed: InstalledVersion }
  /** It cannot be had, or must not be installed, and asking again at once would not help. */
  | { readonly type: "refused"; readonly reason: string }
  /** It cannot be swapped in now. */
  | { readonly type: "not-yet"; readonly why: string; readonly since: Date }
  /** It may be swapped in now. */
  | { readonly type: "go"; readonly cloudBefore: boolean }
  /** The link leads to the new version. */
  | { readonly type: "swapped" }
  /** Nothing was changed, or it was undone. */
  | { readonly type: "not-swapped"; readonly reason: string }
  /** The version on trial did not start, or ended on its own. */
  | { readonly type: "failed"; readonly reason: string }
  /** The version on trial will not become healthy. */
  | { readonly type: "unhealthy"; readonly reason: string }
  | { readonly type: "progress"; readonly healthyMs: number }
  /** Healthy for long enough. */
  | { readonly type: "passed" }
  /** The agent restarts in this state. */
  | { readonly type: "resumed" }
  /** The old version runs again although this process did not put it back: the guard did. */
  | { readonly type: "was-rolled-back"; readonly path: string; readonly reason: string }
  /** Another version was installed by hand. */
  | { readonly type: "adopted"; readonly installed: InstalledVersion }
  /** The current version's file is gone. */
  | { readonly type: "lost"; readonly other: InstalledVersion | undefined }
  /** Nothing is known of a trial that is on. */
  | {
    readonly type: "on-trial";
    readonly installed: InstalledVersion;
    readonly previous: InstalledVersion;
  }
  /** What the state had to do is done. */
  | { readonly type: "done" }
  /** The operator lets a version be tried again; all of them without a name. */
  | { readonly type: "forget-bad"; readonly version: string | undefined };

export interface MachineLimits {
  /** A version on trial that fails to start so many times in a row is marked bad. */
  readonly failedStarts: number;
  /** A version whose trial is cut so many times without getting any further is marked bad. */
  readonly interruptions: number;
}

export interface Moment {
  readonly now: Date;
  readonly limits: MachineLimits;
}

const NEW_TRIAL = { failures: 0, healthyMs: 0, interruptions: 0 } as const;

/** Bad versions remembered; the oldest go first. */
const MOST_BAD = 20;

type Handler<S, E> = (record: ProgramRecord, state: S, event: E, moment: Moment) => ProgramRecord;
type Table = {
  readonly [S in UpdateState as S["kind"]]: {
    readonly [E in UpdateEvent as E["type"]]?: Handler<S, E>;
  };
};

const to = (record: ProgramRecord, state: UpdateState): ProgramRecord => ({ ...record, state });

const held = (problem: string): UpdateState => ({ kind: "held", problem, isBad: false });

/** What to do with a file that is here and checked. */
function tryFile(record: ProgramRecord, target: Target, installed: InstalledVersion) {
  // The links alone showed it, so its name was not known; or the content is the same.
  if (record.current?.path === installed.path) {
    return to({ ...record, current: installed }, { kind: "idle" });
  }
  const bad = record.bad.find(({ path }) => path === installed.path);
  if (bad) {
    return to(record, { kind: "held", problem: badProblem(target, bad), isBad: true });
  }
  return to(record, { kind: "verified", candidate: { target, installed } });
}

/** What the target requests when nothing is under way that must be finished first. */
function decide(record: ProgramRecord): ProgramRecord {
  const { state, current, target } = record;
  if (!target) {
    const problem = "the cloud names no version";
    return to(record, current ? { kind: "idle" } : held(problem));
  }
  if (target.problem !== undefined) return to(record, held(target.problem));
  if (current && isVersionOf(current, target)) {
    // The same program may have got another address since.
    const { version, url } = target;
    return to({ ...record, current: { ...current, version, url } }, { kind: "idle" });
  }
  const bad = record.bad.find(({ key }) => key === targetKey(target));
  if (bad) {
    return to(record, {
      kind: "held",
      problem: badProblem(target, bad),
      isBad: true,
    });
  }
  const underWay = state.kind === "downloading"
    ? state.target
    : "candidate" in state
    ? state.candidate.target
    : undefined;
  return isSameTarget(underWay, target) ? record : to(record, { kind: "downloading", target });
}

const badProblem = (target: Target, { reason }: BadVersion) =>
  `${versionName(target)} was tried and is blocked: ${reason}`;

/** The target is taken note of; it is looked at when the state has come to its end. */
const note = (record: ProgramRecord, _: unknown, { target }: { target: Target | undefined }) => ({
  ...record,
  target,
});
const newTarget: typeof note = (record, state, event) => decide(note(record, state, event));

const wait = (
  record: ProgramRecord,
  { candidate }: { candidate: Candidate },
  { why, since }: { why: string; since: Date },
) => to(record, { kind: "waiting", candidate, why, since: since.toISOString() });

const go: Handler<{ candidate: Candidate }, { cloudBefore: boolean }> = (
  record,
  { candidate },
  { cloudBefore },
) => to(record, { kind: "swapping", candidate, cloudBefore });

const refuse: Handler<UpdateState, { reason: string }> = (record, _, { reason }) =>
  to(record, held(reason));

const withBad = ({ bad }: ProgramRecord, added: BadVersion) =>
  [...bad.filter(({ key }) => key !== added.key), added].slice(-MOST_BAD);

/** Remembers the version as bad and puts the old one back. */
function giveUp(
  record: ProgramRecord,
  candidate: Candidate,
  reason: string,
  now: Date,
): ProgramRecord {
  const at = now.toISOString();
  const { version } = candidate.target;
  const { path } = candidate.installed;
  const key = targetKey({ ...candidate.target, ...candidate.installed });
  const from = versionName(candidate.target);
  const back = record.current ? versionName(record.current) : "";
  return {
    ...record,
    state: { kind: "rolling-back", candidate, reason },
    bad: withBad(record, { key, version, path, reason, at }),
    lastRollback: { from, to: back, reason, at },
  };
}

/** A first version has nothing behind it: it is tried again and again. */
const giveUpIfPossible = (record: ProgramRecord, trial: Trial, reason: string, now: Date) =>
  record.current ? giveUp(record, trial.candidate, reason, now) : to(record, trial);

const forget: Handler<UpdateState, { version: string | undefined }> = (
  record,
  _,
  { version },
) => ({
  ...record,
  bad: version === undefined ? [] : record.bad.filter((bad) => bad.version !== version),
});
const forgetAndLook: typeof forget = (record, state, event, moment) =>
  decide(forget(record, state, event, moment));

/** The guard went back to the current version: the candidate is marked bad, and that is done. */
const wasRolledBack: Handler<{ candidate: Candidate }, { reason: string }> = (
  record,
  { candidate },
  { reason },
  { now },
) => to(giveUp(record, candidate, reason, now), { kind: "rolled-back", reason });

/** The same where nothing is known of the update any more. */
const otherWasRolledBack: Handler<UpdateState, { path: string; reason: string }> = (
  record,
  _,
  { path, reason },
  { now },
) => {
  const at = now.toISOString();
  const version = versionOfFile(path);
  const to = record.current ? versionName(record.current) : "";
  return decide({
    ...record,
    bad: withBad(record, { key: path, version, path, reason, at }),
    lastRollback: { from: version, to, reason, at },
  });
};

const lose: Handler<UpdateState, { other: InstalledVersion | undefined }> = (
  record,
  _,
  { other },
) => decide({ ...record, current: other, previous: undefined });

const adopt: Handler<UpdateState, { installed: InstalledVersion }> = (
  record,
  _,
  { installed },
) => decide({ ...record, current: installed, previous: record.current });

const table: Table = {
  "idle": {
    "target": newTarget,
    "forget-bad": forgetAndLook,
    "adopted": adopt,
    "lost": lose,
    "was-rolled-back": otherWasRolledBack,
    // The address gives something else by now.
    "fetched": (record, _, { installed }) =>
      record.target && record.current?.path !== installed.path
        ? tryFile(record, record.target, installed)
        : record,
    "on-trial": (record, _, { installed, previous }) => ({
      ...record,
      current: previous,
      state: {
        kind: "trial",
        candidate: { target: targetOf(installed), installed },
        cloudBefore: false,
        ...NEW_TRIAL,
      },
    }),
  },
  "held": {
    "was-rolled-back": otherWasRolledBack,
    "target": newTarget,
    "forget-bad": forgetAndLook,
    "adopted": adopt,
    "lost": lose,
    // Time to look again at what was refused.
    "done": (record) => decide(to(record, { kind: "idle" })),
  },
  "downloading": {
    "target": newTarget,
    "forget-bad": forgetAndLook,
    "adopted": adopt,
    "lost": lose,
    "was-rolled-back": otherWasRolledBack,
    "fetched": (record, { target }, { installed }) => tryFile(record, target, installed),
    "refused": refuse,
  },
  "verified": {
    "was-rolled-back": otherWasRolledBack,
    "target": newTarget,
    "forget-bad": forget,
    "adopted": adopt,
    "lost": lose,
    "go": go,
    "refused": refuse,
    "not-yet": wait,
  },
  "waiting": {
    "was-rolled-back": otherWasRolledBack,
    "target": newTarget,
    "forget-bad": forget,
    "adopted": adopt,
    "lost": lose,
    "go": go,
    "refused": refuse,
    "not-yet": (record, state, event) =>
      state.why === event.why ? record : wait(record, state, event),
  },
  "swapping": {
    "target": note,
    "forget-bad": forget,
    "swapped": (record, { candidate, cloudBefore }) =>
      to(record, {
        kind: "trial",
        candidate,
        cloudBefore,
        ...NEW_TRIAL,
      }),
    "not-swapped": (record, { candidate }, { reason }, { now }) =>
      to(record, { kind: "waiting", candidate, why: reason, since: now.toISOString() }),
    // The window that allowed it may have closed since, so it is queried again. Where nothing was
    // installed before, nothing can be disturbed.
    "resumed": (record, { candidate }, _, { now }) =>
      record.current === undefined ? record : to(record, {
        kind: "waiting",
        candidate,
        why: "the swap was interrupted and starts over",
        since: now.toISOString(),
      }),
    "was-rolled-back": wasRolledBack,
  },
  "trial": {
    // A first version that fails has nothing behind it: a better target is the only way on.
    "target": (record, trial, event) =>
      record.current || trial.failures === 0
        ? note(record, trial, event)
        : newTarget({ ...record, current: trial.candidate.installed }, trial, event),
    "forget-bad": forget,
    "failed": (record, trial, { reason }, { now, limits }) => {
      const failures = trial.failures + 1;
      const counted: Trial = { ...trial, failures, healthyMs: 0, interruptions: 0 };
      return failures < limits.failedStarts
        ? to(record, counted)
        : giveUpIfPossible(record, counted, reason, now);
    },
    "unhealthy": (record, trial, { reason }, { now }) =>
      giveUpIfPossible(record, { ...trial, failures: trial.failures + 1 }, reason, now),
    "progress": (record, trial, { healthyMs }) =>
      to(record, { ...trial, healthyMs, interruptions: 0 }),
    "passed": (record, { candidate }) => ({
      ...record,
      state: { kind: "committing", candidate },
      current: candidate.installed,
      previous: record.current,
    }),
    // A reboot says nothing about the version. Only many of them, none of which let it get any
    // further, do: the version may be what takes the host down.
    "resumed": (record, trial, _, { now, limits }) => {
      const interruptions = trial.interruptions + 1;
      const counted: Trial = { ...trial, interruptions };
      const reason = `its trial was cut short ${interruptions} times and got no further`;
      return interruptions < limits.interruptions
        ? to(record, counted)
        : giveUpIfPossible(record, { ...counted, interruptions: 0 }, reason, now);
    },
    "was-rolled-back": wasRolledBack,
  },
  "committing": {
    // The guard was queried once more before it could be notified.
    "was-rolled-back": (record, state, event, moment) =>
      wasRolledBack(
        { ...record, current: record.previous, previous: undefined },
        state,
        event,
        moment,
      ),
    "target": note,
    "forget-bad": forget,
    "done": (record) => to(record, { kind: "committed" }),
  },
  "committed": {
    "target": note,
    "forget-bad": forget,
    "done": (record) => decide(to(record, { kind: "idle" })),
  },
  "rolling-back": {
    "target": note,
    "forget-bad": forget,
    "done": (record, { reason }) => to(record, { kind: "rolled-back", reason }),
    "was-rolled-back": (record, { reason }) => to(record, { kind: "rolled-back", reason }),
  },
  "rolled-back": {
    "target": note,
    "forget-bad": forget,
    "done": (record) => decide(to(record, { kind: "idle" })),
  },
};

/** What an event means. One that means nothing in a state leaves that very record. */
export function next(record: ProgramRecord, event: UpdateEvent, moment: Moment): ProgramRecord {
  const { state } = record;
  const row: { readonly [type: string]: Handler<never, never> | undefined } = table[state.kind];
  const handler = row[event.type];
  if (!handler) return record;
  const after = handler(record, state as never, event as never, moment);
  if (after === record) return after;
  const at = moment.now.toISOString();
  const hasMoved = after.state.kind !== state.kind;
  const isOther = after.current?.path !== record.current?.path;
  if (!hasMoved && !isOther) return after;
  return { ...after, changedAt: at, installedAt: isOther ? at : record.installedAt };
}
