import { toError } from "../../../shared/base/errors/to_error.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import {
  type ChildProcess,
  describeExit,
  type ExitInfo,
  type OutputStream,
  type ProcessMark,
  type ProcessRunner,
} from "../../../shared/base/process/child_process.ts";
import type { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { AgentState } from "../../state/agent_state.ts";
import { versionName } from "../../updates/updater/target.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { readyUrls } from "./ready_line.ts";
import { serverCommand } from "./server_command.ts";
import {
  HUNG_END_MS,
  next,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
} from "./state_machine.ts";
import type { LaunchedServer, WantedServer } from "./wanted_server.ts";

export interface SupervisorOptions {
  readonly processes: ProcessRunner;
  readonly state: AgentState;
  readonly wanted: Watched<WantedServer>;
  readonly credentialsFile: string;
  /** Working folder of the server. */
  readonly dir: string;
  /** The agent's own environment, which the server inherits. */
  readonly env: Readonly<Record<string, string>>;
  /** Passes on a line that the server wrote to its standard output. */
  readonly writeLine: (line: string) => void;
  readonly clock: Clock;
  /** Waits before a start after a failure. */
  readonly backoff: Backoff;
  readonly log: Logger;
  /** Gets what the server writes to its standard error. */
  readonly errorLog: Logger;
  /** Hides secrets in what the server wrote, where that becomes part of a reason. */
  readonly redact: (text: string) => string;
}

/** Failed starts and unexpected ends, counted since this agent runs. */
export interface ServerFailures {
  readonly count: number;
  /** What happened last; empty when nothing did. */
  readonly reason: string;
}

const LONGEST_REASON = 300;

/** Starts the server, watches it, ends it. Decides nothing itself: that is the state machine's. */
export class ServerSupervisor {
  /** Where the server is in its life. */
  readonly state = new Watched<ServerState>({ kind: "stopped" });
  readonly #options: SupervisorOptions;
  #child: ChildProcess | undefined;
  #launched: LaunchedServer | undefined;
  #timer: Timer | undefined;
  #noStray: Promise<void> | undefined;
  #since: { date: Date; ms: number };
  #failures: ServerFailures = { count: 0, reason: "" };
  #lastErrorLine = "";

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#since = { date: options.clock.now(), ms: options.clock.monotonicMs() };
  }

  /** The process that runs; undefined while there is none. */
  get launched(): LaunchedServer | undefined {
    return this.#launched;
  }

  /** Since when the state is of its kind; `ms` of the monotonic clock. */
  get since(): { readonly date: Date; readonly ms: number } {
    return this.#since;
  }

  get failures(): ServerFailures {
    return this.#failures;
  }

  /** Follows what is wanted until aborted; then ends the server and returns when it is gone. */
  async run(signal: AbortSignal): Promise<void> {
    const { wanted } = this.#options;
    await this.endStray();
    try {
      while (!signal.aborted) {
        const { isEnabled, version } = wanted.value;
        this.tell({ type: isEnabled && version ? "start" : "stop" });
        this.#followStartTimeout();
        await wanted.changed(signal);
      }
    } finally {
      this.tell({ type: "stop" });
      await this.state.until(({ kind }) => kind === "stopped", new AbortController().signal);
    }
  }

  /** Something happened. */
  tell(event: ServerEvent): void {
    const before = this.state.value;
    const { state, effects } = next(before, event);
    if (state === before) return;
    this.#describe(event, state);
    if (state.kind !== before.kind) {
      const { clock } = this.#options;
      this.#since = { date: clock.now(), ms: clock.monotonicMs() };
      this.#armTimer(state);
    }
    this.state.value = state;
    for (const effect of effects) this.#perform(effect);
  }

  /** Ends the server with everything it started, at once. */
  killNow(): void {
    void this.#child?.kill();
  }

  #perform(effect: ServerEffect): void {
    switch (effect.do) {
      case "spawn":
        return this.#spawn();
      case "end":
        faultPoint("supervision.before-end");
        return void this.#child?.stop(effect);
      case "reset-backoff":
        return this.#options.backoff.reset();
    }
  }

  #spawn(): void {
    try {
      this.#start();
    } catch (error) {
      this.#options.log.error("machine-server cannot be started", {
        event: "server_start_failed",
        error,
      });
      this.#failed(`cannot be started: ${toError(error).message}`);
      this.tell({ type: "ended" });
    }
  }

  #start(): void {
    const { processes, state, wanted, clock, log, credentialsFile, dir } = this.#options;
    const { version, env: configured } = wanted.value;
    if (!version) throw new Error("there is no version to start");
    const inherited = this.#options.env;
    this.#lastErrorLine = "";
    faultPoint("supervision.before-spawn");
    const child = processes.start({
      ...serverCommand({ program: version.path, credentialsFile, dir, inherited, configured }),
      tree: state.serverTree(),
      onLine: (stream, line) => this.#onLine(stream, line),
    });
    faultPoint("supervision.spawned");
    this.#child = child;
    this.#launched = { version, env: configured, startedMs: clock.monotonicMs() };
    this.#remember(child.mark);
    log.info("machine-server started", {
      event: "server_started",
      pid: child.mark.pid,
      version: versionName(version),
    });
    void child.exited.then((info) => this.#onExit(info));
  }

  #onLine(stream: OutputStream, line: string): void {
    if (stream === "stderr") {
      if (line.trim() !== "") this.#lastErrorLine = line.trim();
      return this.#options.errorLog.warn(line);
    }
    this.#options.writeLine(line);
    const urls = readyUrls(line);
    if (urls) this.tell({ type: "ready", urls });
  }

  #onExit(info: ExitInfo): void {
    const wasTold = this.state.value.kind === "stopping";
    const text = describeExit(info);
    const event = "server_exited";
    if (wasTold) this.#options.log.info(`machine-server ${text}`, { event });
    else {
      this.#options.log.error(`machine-server ${text}`, { event });
      this.#failed(this.#lastErrorLine === "" ? text : `${text}: ${this.#lastErrorLine}`);
    }
    faultPoint("supervision.ended");
    this.#child = undefined;
    this.#launched = undefined;
    this.#remember(undefined);
    this.tell({ type: "ended" });
  }

  #failed(reason: string): void {
    const text = this.#options.redact(reason).slice(0, LONGEST_REASON);
    this.#failures = { count: this.#failures.count + 1, reason: text };
  }

  /**
   * Ends what outlived an agent that was killed: it holds the port and the database, and takes no
   * part in supervision. Once; who comes later waits for the same end.
   */
  endStray(): Promise<void> {
    this.#noStray ??= this.#endStray();
    this.#noStray.catch(() => this.#noStray = undefined);
    return this.#noStray;
  }

  async #endStray(): Promise<void> {
    const { processes, state, log } = this.#options;
    const mark = state.serverProcess() ?? { pid: 0, started: "", tree: state.serverTree() };
    const ended = await processes.endStray(mark, { graceMs: HUNG_END_MS });
    if (ended > 0) {
      log.warn("killed a machine-server left from an earlier run", {
        event: "leftovers_killed",
        processes: ended,
      });
    }
    this.#remember(undefined);
  }

  #remember(mark: ProcessMark | undefined): void {
    try {
      this.#options.state.saveServerProcess(mark);
    } catch (error) {
      this.#options.log.error("the server's process cannot be kept on disk", {
        event: "state_not_written",
        error,
      });
    }
  }

  /** Each state has at most one wait of its own. */
  #armTimer(state: ServerState): void {
    const { wanted, backoff, log } = this.#options;
    this.#timer?.cancel();
    switch (state.kind) {
      case "starting":
        return this.#tellAfter(wanted.value.startTimeoutMs, { type: "start-timeout" });
      case "backing-off": {
        const ms = Math.round(backoff.next());
        log.warn("machine-server is started again", {
          event: "server_backoff",
          in_ms: ms,
          failures: state.failures,
        });
        return this.#tellAfter(ms, { type: "backoff-over" });
      }
    }
  }

  /** A time that was changed holds for the start that is under way, too. */
  #followStartTimeout(): void {
    if (this.state.value.kind !== "starting") return;
    const { clock, wanted } = this.#options;
    this.#timer?.cancel();
    const spentMs = clock.monotonicMs() - this.#since.ms;
    this.#tellAfter(wanted.value.startTimeoutMs - spentMs, { type: "start-timeout" });
  }

  #tellAfter(ms: number, event: ServerEvent): void {
    this.#timer = this.#options.clock.setTimer(ms, () => this.tell(event));
  }

  #describe(event: ServerEvent, state: ServerState): void {
    const { log, clock, wanted } = this.#options;
    switch (event.type) {
      case "ready": {
        const startMs = clock.monotonicMs() - (this.#launched?.startedMs ?? clock.monotonicMs());
        const urls = state.kind === "running" ? state.urls : [];
        return log.info("machine-server serves", {
          event: "server_ready",
          urls,
          after_ms: Math.round(startMs),
        });
      }
      case "start-timeout": {
        const minutes = wanted.value.startTimeoutMs / 60_000;
        const text = `did not report within ${minutes} minutes that it serves`;
        this.#failed(text);
        return log.error(`machine-server ${text}; it is terminated`, {
          event: "server_start_timeout",
        });
      }
      case "unresponsive":
        this.#failed("does not answer any more");
        return log.error("machine-server does not answer any more; it is terminated", {
          event: "server_hung",
        });
      case "stop":
        return log.info("machine-server is stopped");
    }
  }
}
