/** What a module's state is to others: to the resource graph, to status. Pure. */
import type { ModuleRun } from "./module_run.ts";
import type { ModuleState } from "./state_machine.ts";

/** What is reported to the resource graph of a module. */
export interface PublishedModule {
  /** The run whose models can be built; undefined while none can. */
  readonly run: ModuleRun | undefined;
  /** Why no model can be built. */
  readonly unavailable: string | undefined;
  /** True while the module is on its way and has not failed. */
  readonly starting: boolean;
}

/** What the status reports of a module. */
export interface ModuleSnapshot {
  readonly name: string;
  readonly state: "pending" | "starting" | "ready" | "unhealthy" | "closing";
  /** Why it is not ready, or what is wrong though it is. "" when there is nothing to say. */
  readonly error: string;
  readonly lastUpdated: Date;
  /** Starts and runs in a row that failed, without a run of a minute in between. */
  readonly consecutiveFailures: number;
}

/** What is wrong with a module that serves. */
export interface ReadyFaults {
  /** Why its new form is not used; "" when there is none, or nothing is wrong with it. */
  readonly changeOverError: string;
  /** Whether its executable is another one by now. */
  readonly isReplaced: boolean;
}

/** The state's name in {@link ModuleSnapshot}. */
export function snapshotState({ kind }: ModuleState): ModuleSnapshot["state"] {
  if (kind === "refused") return "unhealthy";
  return kind === "gone" ? "closing" : kind;
}

/** Why a module is not ready, or what is wrong though it is; "" when there is nothing to say. */
export function errorOf(name: string, state: ModuleState, faults: ReadyFaults): string {
  switch (state.kind) {
    case "pending":
    case "refused":
      return state.reason;
    case "unhealthy":
      return notRunning(name, state.error);
    case "starting":
      return state.error === ""
        ? ""
        : `module ${name} is started again after a failure: ${state.error}`;
    case "ready":
      if (faults.changeOverError !== "") {
        return `its new version is not used, it keeps running as it was: ${faults.changeOverError}`;
      }
      return faults.isReplaced
        ? "its executable was replaced on disk; restart the module to use the new one"
        : "";
    case "closing":
    case "gone":
      return "";
  }
}

/** @param run the process that serves in the state "ready". */
export function publishedModule(
  name: string,
  state: ModuleState,
  run: ModuleRun | undefined,
): PublishedModule {
  const off = (unavailable: string, starting: boolean) => ({
    run: undefined,
    unavailable,
    starting,
  });
  switch (state.kind) {
    case "ready":
      return { run, unavailable: undefined, starting: false };
    case "pending":
      return off(`module ${name} waits: ${state.reason}`, true);
    case "starting":
      // The same words as while it waits for this start: resources log each change of them.
      return state.error === ""
        ? off(`module ${name} is starting`, true)
        : off(notRunning(name, state.error), false);
    case "closing":
      return off(
        `module ${name} is ${state.then === "start" ? "restarted" : "ended"}`,
        state.then === "start",
      );
    case "refused":
      return off(state.reason, false);
    case "unhealthy":
      return off(notRunning(name, state.error), false);
    case "gone":
      return off("", false);
  }
}

/** Why a state that waits waits; "" for others. */
export function reasonOf(state: ModuleState): string {
  return state.kind === "pending" || state.kind === "refused" ? state.reason : "";
}

function notRunning(name: string, error: string): string {
  return `module ${name} is not running: ${error}`;
}
