import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { WaitTimeoutError } from "../../../shared/base/time/wait_for.ts";
import type { AskRestartStatus, RestartStatus } from "../supervision/restart_status.ts";
import type { Running, ServerState } from "../supervision/state_machine.ts";
import type { ServerSupervisor } from "../supervision/supervisor.ts";
import type { LaunchedServer, WantedServer } from "../supervision/wanted_server.ts";
import type { RestartPermission } from "../../updates/updater/control.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";

export interface MaintenanceWindowOptions {
  readonly supervisor: Pick<ServerSupervisor, "state" | "launched" | "since" | "tell">;
  readonly wanted: Watched<WantedServer>;
  /** The first start of the server waits until updates were looked for. */
  readonly isWaitingForUpdates: Watched<boolean>;
  readonly ask: AskRestartStatus;
  /** Until when a person has opened the window on this host; undefined: nobody has. */
  readonly openedUntil?: () => Date | undefined;
  /** A running server that gives no answer for so long hangs. */
  readonly hangTimeoutMs: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is known of the running server from asking it. */
export interface Observed {
  /** The process that was queried. */
  readonly launched: LaunchedServer;
  readonly kind: "yes" | "no" | "silent";
  /** Why it is not a yes; empty with a yes. */
  readonly why: string;
  /** Since when it has been of this kind; `ms` of the monotonic clock. */
  readonly since: { readonly date: Date; readonly ms: number };
  /** Questions in a row without an answer. */
  readonly misses: number;
  /** It applies a configuration, as far as it reports. */
  readonly isReconfiguring: boolean;
  /** Whether the server reports that it reaches its cloud; undefined: it does not report that. */
  readonly cloudReached: boolean | undefined;
}

const ASK_EVERY_MS = 10_000;
/** The caller has a limit of its own, and this one holds if that fails. */
const LONGEST_QUESTION_MS = 15_000;
/** So many questions go unanswered before silence means anything, however long each took. */
const MISSES_THAT_MATTER = 3;
/** A server that has served and answered for so long is healthy: its failures are forgotten. */
const STABLE_MS = 60_000;
/**
 * A server that failed so often in a row without a healthy time in between does nothing that a
 * restart could disturb, and will never give its leave.
 */
export const FAILURES_BEFORE_LEAVE = 3;

export const isRunning = (state: ServerState): state is Running => state.kind === "running";

/**
 * Whether the server, and with it the agent, may be restarted now. The running server decides: it
 * knows its maintenance sensor and whether it applies a configuration. One that gives no answer
 * has not said yes; when it stays silent it is killed by supervision, and that is all.
 */
export class MaintenanceWindow {
  /** Set at each answer, or lack of one. */
  readonly observed = new Watched<Observed | undefined>(undefined);
  readonly #options: MaintenanceWindowOptions;
  readonly #ended = new AbortController();
  #asking: Promise<void> | undefined;

  constructor(options: MaintenanceWindowOptions) {
    this.#options = options;
  }

  /** Queries the running server every 10 s; one that hangs is killed. */
  async run(signal: AbortSignal): Promise<void> {
    const { supervisor, clock } = this.#options;
    signal.addEventListener("abort", () => this.#ended.abort(), { once: true });
    const turn = async () => {
      await supervisor.state.until(isRunning, signal);
      const startedMs = clock.monotonicMs();
      await this.#ask();
      return Math.max(0, ASK_EVERY_MS - (clock.monotonicMs() - startedMs));
    };
    await pollLoop(turn, { clock, intervalMs: ASK_EVERY_MS }, signal);
  }

  /** Queries the server now; what it said some seconds ago may hold no more. */
  async check(): Promise<RestartPermission> {
    await this.#ask();
    return this.latest();
  }

  /**
   * For those that wait until they may: {@link run} is who polls, and only a yes, which may hold no
   * more, is requested again.
   */
  async permission(): Promise<RestartPermission> {
    const latest = this.latest();
    return latest.allowed ? await this.check() : latest;
  }

  /** By what is known without asking. */
  latest(): RestartPermission {
    const { supervisor } = this.#options;
    const state = supervisor.state.value;
    const since = supervisor.since.date;
    switch (state.kind) {
      case "stopped":
        return this.#isToRun()
          ? { allowed: false, why: "machine-server is about to start", since }
          : { allowed: true };
      case "stopping":
        return { allowed: false, why: "machine-server is shutting down", since };
      case "starting":
      case "backing-off": {
        if (state.failures >= FAILURES_BEFORE_LEAVE) return { allowed: true };
        const why = state.kind === "starting"
          ? "machine-server is starting and does not answer yet"
          : "machine-server exited and is restarted";
        return { allowed: false, why, since };
      }
      case "running":
        return this.#byAnswer(since);
    }
  }

  /** What was received from the process that runs now. */
  current(): Observed | undefined {
    const { launched } = this.#options.supervisor;
    const observed = this.observed.value;
    return launched && observed?.launched === launched ? observed : undefined;
  }

  /** The running server has not answered for some time. */
  get isHung(): boolean {
    return (this.current()?.misses ?? 0) >= MISSES_THAT_MATTER;
  }

  #byAnswer(runningSince: Date): RestartPermission {
    const observed = this.current();
    if (!observed) {
      return { allowed: false, why: "machine-server was not queried yet", since: runningSince };
    }
    if (observed.kind === "yes") return { allowed: true };
    // A person stands in for the sensor, not for a server that is busy or gives no answer.
    const isOpened = observed.kind === "no" && !observed.isReconfiguring &&
      this.#options.openedUntil?.() !== undefined;
    if (isOpened) return { allowed: true };
    return { allowed: false, why: observed.why, since: observed.since.date };
  }

  #isToRun(): boolean {
    const { wanted, isWaitingForUpdates } = this.#options;
    const { isEnabled, version } = wanted.value;
    return isEnabled && version !== undefined && !isWaitingForUpdates.value;
  }

  /** A caller that comes while the answer is awaited shares it. */
  #ask(): Promise<void> {
    this.#asking ??= this.#askServer().finally(() => this.#asking = undefined);
    return this.#asking;
  }

  /** An agent that ends waits for no answer. */
  async #question(urls: readonly string[]): Promise<RestartStatus> {
    const { ask, clock } = this.#options;
    const { signal } = this.#ended;
    const limits = { clock, deadlineMs: LONGEST_QUESTION_MS, what: "the answer", signal };
    try {
      return await withDeadline(() => ask(urls), limits);
    } catch (error) {
      if (!signal.aborted && !(error instanceof WaitTimeoutError)) throw error;
      return { kind: "no-answer", reason: `no answer within ${LONGEST_QUESTION_MS / 1000} s` };
    }
  }

  async #askServer(): Promise<void> {
    const { supervisor, clock } = this.#options;
    const { launched } = supervisor;
    const state = supervisor.state.value;
    if (!launched || !isRunning(state)) return;
    const asked = { date: clock.now(), ms: clock.monotonicMs() };
    const status = await this.#question(state.urls);
    if (this.#ended.signal.aborted) return;
    if (supervisor.launched !== launched || !isRunning(supervisor.state.value)) return;
    const before = this.current();
    if (status.kind === "no-answer") return this.#heardNothing(status.reason, launched, asked);
    const kind = status.restartAllowed ? "yes" : "no";
    const why = kind === "yes"
      ? ""
      : `machine-server does not allow it: ${
        status.reason ?? status.why ??
          "its maintenance sensor forbids it, or it applies a configuration"
      }`;
    if (before?.kind === "silent") this.#options.log.info("machine-server answers again");
    const since = before?.kind === kind ? before.since : asked;
    const { cloudReached, isReconfiguring = false } = status;
    this.observed.value = {
      launched,
      kind,
      why,
      since,
      misses: 0,
      isReconfiguring,
      cloudReached,
    };
    if (clock.monotonicMs() - supervisor.since.ms >= STABLE_MS) supervisor.tell({ type: "stable" });
  }

  #heardNothing(reason: string, launched: LaunchedServer, asked: Observed["since"]): void {
    const { supervisor, clock, log, hangTimeoutMs } = this.#options;
    const before = this.current();
    const since = before?.kind === "silent" ? before.since : asked;
    const misses = (before?.misses ?? 0) + 1;
    const why = `machine-server gives no answer: ${reason}`;
    if (misses === 1) log.warn(why);
    else log.debug(why, { times: misses });
    this.observed.value = {
      launched,
      kind: "silent",
      why,
      since,
      misses,
      isReconfiguring: false,
      cloudReached: undefined,
    };
    const silentMs = clock.monotonicMs() - since.ms;
    if (misses < MISSES_THAT_MATTER || silentMs < hangTimeoutMs()) return;
    supervisor.tell({ type: "unresponsive" });
  }
}
