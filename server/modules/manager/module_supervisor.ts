/** Starts one module, watches it, ends it. What to do when is the state machine's to say. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { describeExit } from "../../../shared/base/process/child_process.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { ChangeOver } from "./change_over.ts";
import { executableIdentity, ExecutableWatch } from "./executable.ts";
import type { ModuleRun } from "./module_run.ts";
import {
  errorOf,
  type ModuleSnapshot,
  type PublishedModule,
  publishedModule,
  reasonOf,
  snapshotState,
} from "./module_status.ts";
import {
  isSettled,
  type ModuleEffect,
  type ModuleEvent,
  type ModuleState,
  next,
} from "./state_machine.ts";
import { type Hold, needsRestart, type WantedModule } from "./wanted_module.ts";

/** The first start after a crash waits about so long. */
const BACKOFF_MIN_MS = 1_000;
/** With its start a module serves again within 6 s, however often it crashed before. */
const BACKOFF_MAX_MS = 4_000;
/** A module that has served so long forgets the failures before. */
const STABLE_MS = 60_000;
/** All resources of a module have so long together to be removed before its process is stopped. */
export const REMOVE_ALL_MS = 20_000;
/** From TERM to KILL. */
const STOP_GRACE_MS = 20_000;
/** Of failures in a row that are the same so many are one in the log: about one each minute. */
const TOLD_EVERY = 15;

export interface SupervisorOptions {
  readonly name: string;
  /** Starts the program and waits until it is ready; cleans up after itself when that fails. */
  readonly start: (module: WantedModule, signal: AbortSignal) => Promise<ModuleRun>;
  /**
   * Does what `start` would do first, while another form of the module runs. Throws why it failed.
   * Default: nothing.
   */
  readonly prepare?: (module: WantedModule, signal: AbortSignal) => Promise<void>;
  /** Called when another form of the module has taken over and nothing of the old one runs. */
  readonly onChangedOver?: () => void;
  /** Resolves when the resources that are concerned have been closed. */
  readonly publish: (news: PublishedModule) => Promise<void>;
  /** Takes the models back for good. */
  readonly withdraw: () => Promise<void>;
  readonly clock: Clock;
  /** The module's logger. */
  readonly log: Logger;
  /** Called after each change of {@link ModuleSupervisor.snapshot}. */
  readonly onChange: () => void;
  /** Numbers in [0, 1) that spread the waits between starts. Default: `Math.random`. */
  readonly random?: () => number;
}

export class ModuleSupervisor {
  #state: ModuleState = { kind: "gone" };
  #wanted: WantedModule | undefined;
  /** What runs or is started: not the wanted form while that is not prepared. */
  #current: WantedModule | undefined;
  readonly #changeOver: ChangeOver;
  #run: ModuleRun | undefined;
  #attempt: { controller: AbortController; done: Promise<void> } | undefined;
  #published: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #file: ExecutableWatch | undefined;
  #isReplaced = false;
  #toldError = "";
  #lastUpdated: Date;
  #waiters: (() => void)[] = [];
  readonly #backoff: Backoff;

  constructor(private readonly options: SupervisorOptions) {
    this.#lastUpdated = options.clock.now();
    const { clock, log, random = Math.random, prepare = () => Promise.resolve() } = options;
    this.#changeOver = new ChangeOver({
      prepare,
      onPrepared: (module) => this.#takeOver(module),
      onChange: () => {
        this.#lastUpdated = clock.now();
        options.onChange();
      },
      clock,
      log,
      random,
    });
    this.#backoff = new Backoff({
      minMs: BACKOFF_MIN_MS,
      maxMs: BACKOFF_MAX_MS,
      // A tenth of jitter is enough among the modules of one machine.
      random: () => 0.9 + random() / 10,
    });
  }

  get state(): ModuleState {
    return this.#state;
  }

  /** The run that serves; undefined while none does. */
  get run(): ModuleRun | undefined {
    return this.#state.kind === "ready" ? this.#run : undefined;
  }

  /** `namespace:name`, if it has one. */
  get moduleId(): string | undefined {
    return this.#wanted?.moduleId;
  }

  /** Folders that it runs from, or will. */
  get roots(): string[] {
    return [this.#current, this.#wanted].flatMap((module) => module?.root ? [module.root] : []);
  }

  snapshot(): ModuleSnapshot {
    const state = this.#state;
    return {
      name: this.options.name,
      state: snapshotState(state),
      error: this.#errorText(),
      lastUpdated: this.#lastUpdated,
      consecutiveFailures: "failures" in state ? state.failures : 0,
    };
  }

  /** The configuration has the module in this form. */
  want(wanted: WantedModule, hold: Hold | undefined): void {
    const isUnderWay = ["starting", "ready", "unhealthy"].includes(this.#state.kind);
    const isOther = this.#current !== undefined && needsRestart(this.#current, wanted);
    const goesOn = !hold && this.#changeOver.isFor(wanted);
    const isPrepared = !goesOn && (this.#state.kind !== "ready" || !isOther || hold);
    this.#wanted = wanted;
    if (isPrepared) {
      this.#changeOver.cancel();
      this.#current = wanted;
    }
    this.tell({ type: "want", hold });
    if (!isUnderWay || hold || !isOther || goesOn) return;
    if (isPrepared) this.#startAnew();
    else this.#changeOver.begin(wanted);
  }

  /**
   * Ends the module and starts it again; resolves when it is ready.
   *
   * @throws {ConnectError} that says why it is not.
   */
  async restart(): Promise<void> {
    this.tell({ type: "restart" });
    await this.settled();
    if (this.#state.kind === "ready") return;
    throw new ConnectError(
      this.#errorText() || `module ${this.options.name} does not run`,
      this.#state.kind === "unhealthy" ? Code.Unknown : Code.FailedPrecondition,
    );
  }

  /** Resolves when no start or end is under way. */
  async settled(): Promise<void> {
    await this.#changeOver.firstAttempt;
    if (!isSettled(this.#state)) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Ends the module for good; resolves when nothing of it runs. */
  async remove(): Promise<void> {
    this.#changeOver.cancel();
    this.tell({ type: "remove" });
    await this.settled();
    await this.#published;
  }

  /** KILL to whatever of it runs. */
  kill(): void {
    this.#attempt?.controller.abort(new Error("the server is shutting down"));
    this.#run?.kill();
  }

  /** Something happened. */
  tell(event: ModuleEvent): void {
    const before = this.#state;
    const { state, effects } = next(before, event);
    if (state === before) return;
    this.#state = state;
    this.#lastUpdated = this.options.clock.now();
    if (state.kind !== before.kind || reasonOf(state) !== reasonOf(before)) this.#enter(state);
    for (const effect of effects) this.#perform(effect);
    this.options.onChange();
    if (!isSettled(state)) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  #takeOver(module: WantedModule): void {
    this.#current = module;
    this.#startAnew();
    void this.settled().then(() => this.options.onChangedOver?.());
  }

  #startAnew(): void {
    this.options.log.info("the configuration of the module changed; restarting it");
    this.#backoff.reset();
    this.tell({ type: "restart" });
  }

  #enter(state: ModuleState): void {
    const { name, log, clock, publish, withdraw } = this.options;
    this.#timer?.cancel();
    if (state.kind === "ready") {
      this.#timer = clock.setTimer(STABLE_MS, () => this.tell({ type: "stable" }));
    } else this.#file?.close();
    if (state.kind === "unhealthy") {
      const ms = Math.round(this.#backoff.next());
      // It is retried every few seconds permanently: the same failure is logged the first times, then rarely.
      const isOld = state.error === this.#toldError && state.failures % TOLD_EVERY > 2;
      this.#toldError = state.error;
      log[isOld ? "debug" : "error"](`module ${name} is not running: ${state.error}`, {
        event: "module_down",
        failures: state.failures,
        next_start_in_ms: ms,
      });
      this.#timer = clock.setTimer(ms, () => this.tell({ type: "backoff-over" }));
    } else if (state.kind === "refused") log.error(state.reason, { event: "module_refused" });
    const publishing = state.kind === "gone"
      ? withdraw()
      : publish(publishedModule(name, state, this.#run));
    this.#published = publishing.catch((error) =>
      log.error("the resources of the module could not be brought in line with it", {
        event: "module_resources_failed",
        error,
      })
    );
  }

  #perform(effect: ModuleEffect): void {
    switch (effect.do) {
      case "start":
        return this.#start();
      case "close":
        return void this.#close();
      case "reset-backoff":
        return this.#backoff.reset();
    }
  }

  #start(): void {
    const controller = new AbortController();
    const done = this.#attemptStart(this.#current!, controller.signal);
    this.#attempt = { controller, done };
  }

  async #attemptStart(module: WantedModule, signal: AbortSignal): Promise<void> {
    const { start, log } = this.options;
    try {
      const identity = await executableIdentity(module.executable);
      const run = await start(module, signal);
      if (!run.isAlive) throw new Error("it exited right after it was ready");
      this.#run = run;
      this.#isReplaced = false;
      this.#watchFile(module.executable, identity);
      void run.exited.then((exit) => {
        if (this.#run !== run) return;
        this.#forgetRun();
        run.channel.close();
        this.tell({ type: "exited", error: `it ${describeExit(exit)}` });
      });
      this.tell({ type: "ready" });
      log.info("module is ready", {
        event: "module_ready",
        pid: run.pid,
        apis: run.apis.length,
      });
    } catch (error) {
      this.tell({ type: "failed", error: toError(error).message });
    }
  }

  /** Resources first, so that the module can let go of what they hold; then the process. */
  async #close(): Promise<void> {
    const { name, log, clock } = this.options;
    this.#attempt?.controller.abort(new Error("it is no longer wanted"));
    await this.#attempt?.done;
    const run = this.#run;
    if (run) {
      try {
        await withDeadline(() => this.#published, {
          clock,
          deadlineMs: REMOVE_ALL_MS,
          what: `removing the resources of module ${name}`,
        });
      } catch (error) {
        log.warn(`${toError(error).message}; its process is killed nonetheless`);
      }
      const exit = await run.stop(STOP_GRACE_MS);
      const text = `module ${describeExit(exit)}`;
      if (exit.signal === "SIGKILL") log.warn(`${text}, having ignored TERM`);
      else log.info(text);
      if (this.#run === run) this.#forgetRun();
    }
    this.tell({ type: "closed" });
  }

  #forgetRun(): void {
    this.#run = undefined;
    this.#file?.close();
  }

  #watchFile(path: string, identity: string): void {
    const { clock, log, onChange } = this.options;
    this.#file?.close();
    this.#file = new ExecutableWatch(path, identity, clock, () => {
      this.#isReplaced = true;
      log.warn(`${path} was replaced; the running module is the old one until it is restarted`);
      this.#lastUpdated = clock.now();
      onChange();
    });
  }

  #errorText(): string {
    return errorOf(this.options.name, this.#state, {
      changeOverError: this.#changeOver.error,
      isReplaced: this.#isReplaced,
    });
  }
}
