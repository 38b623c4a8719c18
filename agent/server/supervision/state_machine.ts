/**
 * The life of the server process as a table: what each event means in each state. Nothing here
 * acts; the supervisor performs the effects.
 */

/** Nothing runs and nothing shall. */
export interface Stopped {
  readonly kind: "stopped";
}
/** A process is being made, or runs and has not said that it serves. */
export interface Starting {
  readonly kind: "starting";
  /** Starts in a row that came to nothing, without a stable run in between. */
  readonly failures: number;
}
/** It has said that it serves. */
export interface Running {
  readonly kind: "running";
  readonly failures: number;
  /** Where it serves, the nearest address first. */
  readonly urls: readonly string[];
}
/** It was asked to stop. */
export interface Stopping {
  readonly kind: "stopping";
  readonly failures: number;
  readonly then: "stay" | "start" | "back-off";
}
/** It exited or was killed because it hung; the next start waits. */
export interface BackingOff {
  readonly kind: "backing-off";
  readonly failures: number;
}

export type ServerState = Stopped | Starting | Running | Stopping | BackingOff;

export type ServerEvent =
  /** It shall run. Sent at every change, so it may hold already. */
  | { readonly type: "start" }
  /** It shall not run. Likewise. */
  | { readonly type: "stop" }
  /** It shall run again: that was requested from outside. */
  | { readonly type: "restart" }
  | { readonly type: "ready"; readonly urls: readonly string[] }
  /** The process is gone, or could not be made. */
  | { readonly type: "ended" }
  | { readonly type: "start-timeout" }
  /** It no longer answers. */
  | { readonly type: "unresponsive" }
  /** It has run and answered long enough to be trusted. */
  | { readonly type: "stable" }
  | { readonly type: "backoff-over" };

export type ServerEffect =
  | { readonly do: "spawn" }
  /** TERM to the group, KILL after the grace. */
  | { readonly do: "end"; readonly graceMs: number }
  | { readonly do: "reset-backoff" };

export interface Transition {
  readonly state: ServerState;
  readonly effects: readonly ServerEffect[];
}

/** The server itself aborts a graceful shutdown after 60 s; this is a little more. */
export const CLEAN_END_MS = 70_000;
/** One that hangs is not waited for as long. */
export const HUNG_END_MS = 10_000;
type Handler<S, E> = (state: S, event: E) => Transition;
type Table = {
  readonly [S in ServerState as S["kind"]]: {
    readonly [E in ServerEvent as E["type"]]?: Handler<S, E>;
  };
};

const stay = (state: ServerState): Transition => ({ state, effects: [] });
const start = (failures: number): Transition => ({
  state: { kind: "starting", failures },
  effects: [{ do: "spawn" }],
});
const end = (then: Stopping["then"], failures: number, graceMs: number): Transition => ({
  state: { kind: "stopping", failures, then },
  effects: [{ do: "end", graceMs }],
});
const backOff = (failures: number): Transition => stay({ kind: "backing-off", failures });

const table: Table = {
  "stopped": {
    // Failures of another version, or of another time, say nothing of this start.
    "start": () => ({
      state: { kind: "starting", failures: 0 },
      effects: [{ do: "reset-backoff" }, { do: "spawn" }],
    }),
  },
  "starting": {
    "ready": ({ failures }, { urls }) => stay({ kind: "running", failures, urls }),
    "ended": ({ failures }) => backOff(failures + 1),
    "start-timeout": ({ failures }) => end("back-off", failures + 1, HUNG_END_MS),
    "stop": ({ failures }) => end("stay", failures, CLEAN_END_MS),
    "restart": ({ failures }) => end("start", failures, CLEAN_END_MS),
  },
  "running": {
    // It says so again when it serves on another address.
    "ready": (state, { urls }) => stay({ ...state, urls }),
    "ended": ({ failures }) => backOff(failures + 1),
    "unresponsive": ({ failures }) => end("back-off", failures + 1, HUNG_END_MS),
    "stop": ({ failures }) => end("stay", failures, CLEAN_END_MS),
    "restart": ({ failures }) => end("start", failures, CLEAN_END_MS),
    "stable": (state) =>
      state.failures === 0
        ? stay(state)
        : { state: { ...state, failures: 0 }, effects: [{ do: "reset-backoff" }] },
  },
  "stopping": {
    "ended": ({ then, failures }) => {
      if (then === "start") return start(failures);
      return then === "stay" ? stay({ kind: "stopped" }) : backOff(failures);
    },
    "stop": (state) => stay({ ...state, then: "stay" }),
    "start": (state) => stay(state.then === "stay" ? { ...state, then: "start" } : state),
    "restart": (state) => stay(state.then === "back-off" ? { ...state, then: "start" } : state),
  },
  "backing-off": {
    "backoff-over": ({ failures }) => start(failures),
    "stop": () => stay({ kind: "stopped" }),
    "restart": ({ failures }) => start(failures),
  },
};

/** What an event means. An event that means nothing in a state leaves that very object. */
export function next(state: ServerState, event: ServerEvent): Transition {
  const row: { readonly [type: string]: Handler<never, never> | undefined } = table[state.kind];
  const handler = row[event.type];
  return handler ? handler(state as never, event as never) : stay(state);
}
