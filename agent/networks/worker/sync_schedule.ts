import { toError } from "../../../shared/base/errors/to_error.ts";
import type { AgentSettings } from "../../../shared/config/agent_fields.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { NetworkStore } from "../store/network_store.ts";
import type { ProfileSync } from "../profiles/profile_sync.ts";
import { networkDigest, wantedNetworks } from "../profiles/wanted_networks.ts";
import type { NetworkState } from "../state_machine/network_state.ts";

const RETRY_MS = 60_000;
/** States in which profiles are not changed below somebody's feet. */
const BUSY = new Set<NetworkState["kind"]>(["trying", "connecting", "verifying", "user-active"]);

export interface SyncScheduleOptions {
  readonly sync: ProfileSync;
  readonly store: NetworkStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** When NetworkManager's profiles are compared with `additional_networks`. */
export class SyncSchedule {
  readonly #options: SyncScheduleOptions;
  #key = "";
  #atMs = -Infinity;
  /** For the machine to be online. */
  #isWaiting = false;
  #problem: string | undefined;

  constructor(options: SyncScheduleOptions) {
    this.#options = options;
  }

  /** Which networks are not in use and why, each one sentence. */
  get problems(): readonly string[] {
    const { problems } = this.#options.sync;
    return this.#problem === undefined ? problems : [...problems, this.#problem];
  }

  /**
   * Compares where the settings or NetworkManager's profiles changed, or the last try failed.
   *
   * @returns `later`: it is due, and this is no moment for it.
   */
  async runIfDue(
    settings: AgentSettings,
    { state, hasChanged }: { readonly state: NetworkState; readonly hasChanged: boolean },
    signal: AbortSignal,
  ): Promise<"done" | "later" | "not due"> {
    const { sync, store, clock, log } = this.#options;
    const learned = store.profiles();
    const wanted = wantedNetworks(settings, (label) => learned.get(label)?.learned);
    const key = wanted.map(networkDigest).join();
    const nowMs = clock.monotonicMs();
    const isRetry = this.#problem !== undefined && nowMs - this.#atMs >= RETRY_MS;
    if (!hasChanged && key === this.#key && !isRetry && !this.#isWaiting) return "not due";
    if (BUSY.has(state.kind)) return "later";
    const isSettled = state.kind !== "offline" || nowMs >= state.waitUntilMs;
    try {
      this.#isWaiting = !await sync.run(wanted, { isSettled }, signal);
      this.#problem = undefined;
    } catch (error) {
      if (signal.aborted || (error instanceof Error && error.name === "DBusClosed")) throw error;
      const reason = toError(error).message;
      const problem = `additional_networks cannot be applied: ${reason}`;
      if (problem !== this.#problem) log.error(problem, { event: "network_refused" });
      this.#problem = problem;
    }
    this.#key = key;
    this.#atMs = clock.monotonicMs();
    return "done";
  }
}
