/**
 * The life of one module as a table: what each event means in each state. Nothing here acts; the
 * module's supervisor performs the effects.
 */
import type { Hold } from "./wanted_module.ts";

/** Nothing runs; what it waits for comes on its own. */
export interface Pending {
  readonly kind: "pending";
  readonly reason: string;
}
/** Nothing runs, and nothing will with this configuration. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: string;
}
/** From the first-run script to the answer of Ready. */
export interface Starting {
  readonly kind: "starting";
  /** Failures in a row, without a stable run in between. */
  readonly failures: number;
  /** Why it has to be started again; "" at first. */
  readonly error: string;
}
/** It serves its resources. */
export interface Ready {
  readonly kind: "ready";
  readonly failures: number;
}
/** It could not be started or ended on its own; the next start waits. */
export interface Unhealthy {
  readonly kind: "unhealthy";
  readonly failures: number;
  readonly error: string;
}
/** Its resources are removed and its process is stopped. */
export interface Closing {
  readonly kind: "closing";
  readonly then: "start" | "go" | Hold;
}
/** It has left the configuration and nothing of it runs. */
export interface Gone {
  readonly kind: "gone";
}

export type ModuleState = Pending | Refused | Starting | Ready | Unhealthy | Closing | Gone;

export type ModuleEvent =
  /** The configuration has it. Sent at every configuration, so it may hold already. */
  | { readonly type: "want"; readonly hold: Hold | undefined }
  /** It is to run again: its configuration changed, or somebody asked. */
  | { readonly type: "restart" }
  /** The configuration has it no longer, or the server ends. */
  | { readonly type: "remove" }
  | { readonly type: "ready" }
  /** The attempt to start it failed; nothing of it runs any more. */
  | { readonly type: "failed"; readonly error: string }
  /** The process of a ready module has ended. */
  | { readonly type: "exited"; readonly error: string }
  /** It has run long enough to be trusted. */
  | { readonly type: "stable" }
  | { readonly type: "backoff-over" }
  /** Its resources are removed and its process is gone. */
  | { readonly type: "closed" };

export type ModuleEffect =
  | { readonly do: "start" }
  /** Break off a start or end what runs: resources first, then the process. */
  | { readonly do: "close" }
  | { readonly do: "reset-backoff" };

export interface Transition {
  readonly state: ModuleState;
  readonly effects: readonly ModuleEffect[];
}

type Handler<S, E> = (state: S, event: E) => Transition;
type Table = {
  readonly [S in ModuleState as S["kind"]]: {
    readonly [E in ModuleEvent as E["type"]]?: Handler<S, E>;
  };
};

const stay = (state: ModuleState): Transition => ({ state, effects: [] });
const start = (failures = 0, error = ""): Transition => ({
  state: { kind: "starting", failures, error },
  effects: [{ do: "start" }],
});
const close = (then: Closing["then"]): Transition => ({
  state: { kind: "closing", then },
  effects: [{ do: "close" }],
});
const unhealthy = (failures: number, error: string) => stay({ kind: "unhealthy", failures, error });
const gone = () => stay({ kind: "gone" });
const enter = (hold: Hold | undefined) => hold ? stay(hold) : start();

const table: Table = {
  "pending": {
    "want": (_state, { hold }) => enter(hold),
    "remove": gone,
  },
  "refused": {
    "want": (_state, { hold }) => enter(hold),
    "remove": gone,
  },
  "starting": {
    "want": (state, { hold }) => hold ? close(hold) : stay(state),
    "restart": () => close("start"),
    "remove": () => close("go"),
    "ready": ({ failures }) => stay({ kind: "ready", failures }),
    "failed": ({ failures }, { error }) => unhealthy(failures + 1, error),
  },
  "ready": {
    "want": (state, { hold }) => hold ? close(hold) : stay(state),
    "restart": () => close("start"),
    "remove": () => close("go"),
    "exited": ({ failures }, { error }) => unhealthy(failures + 1, error),
    "stable": () => ({
      state: { kind: "ready", failures: 0 },
      effects: [{ do: "reset-backoff" }],
    }),
  },
  "unhealthy": {
    "want": (state, { hold }) => hold ? stay(hold) : stay(state),
    "restart": ({ failures, error }) => start(failures, error),
    "remove": gone,
    "backoff-over": ({ failures, error }) => start(failures, error),
  },
  "closing": {
    "want": (state, { hold }) =>
      stay(hold || state.then !== "start" ? { kind: "closing", then: hold ?? "start" } : state),
    "restart": (state) => stay(state.then === "go" ? state : { ...state, then: "start" }),
    "remove": (state) => stay({ ...state, then: "go" }),
    "closed": ({ then }) => {
      if (then === "go") return gone();
      return then === "start" ? start() : stay(then);
    },
  },
  "gone": {
    "want": (_state, { hold }) => enter(hold),
  },
};

/** What an event means. An event that means nothing in a state leaves that very object. */
export function next(state: ModuleState, event: ModuleEvent): Transition {
  const row: { readonly [type: string]: Handler<never, never> | undefined } = table[state.kind];
  const handler = row[event.type];
  return handler ? handler(state as never, event as never) : stay(state);
}

/** True when nothing is under way: a configuration has been dealt with as far as it can be now. */
export function isSettled({ kind }: ModuleState): boolean {
  return kind !== "starting" && kind !== "closing";
}
