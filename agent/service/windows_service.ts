import { toError } from "../../shared/base/errors/to_error.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { pollLoop } from "../../shared/workers/poll_loop.ts";
import { UPDATE_EXIT_CODE } from "../updates/guard/trial_file.ts";
import type { AgentEnd } from "./agent_end.ts";
import type { StopSignals } from "./stop_signals.ts";
import type { ServiceManager } from "./service_manager.ts";
import {
  Accept,
  Control,
  type ServiceControl,
  type ServiceStatus,
  State,
  WindowsError,
} from "./windows_api.ts";

export const WINDOWS_SERVICE = "machine-agent";

export interface WindowsServiceOptions {
  readonly control: ServiceControl;
  readonly clock: Clock;
  /** The agent. Its own logging is closed when it resolves. */
  readonly work: (manager: ServiceManager, stop: StopSignals) => Promise<AgentEnd>;
  /** Notified before the service is reported stopped: after that Windows may end the process. */
  readonly beforeStopped?: (end: AgentEnd | Error) => Promise<void>;
}

/** Windows takes a service for hung that does not report within its own hint. */
const WAIT_HINT_MS = 30_000;
const REPORT_EVERY_MS = 5_000;
const ACCEPTS = Accept.stop | Accept.shutdown | Accept.preshutdown;

/**
 * Runs the agent as a service of Windows: reports each step to the service manager, shuts down
 * gracefully when it is asked to, and exits with a code that lets it be started again when it
 * failed or wants to.
 *
 * @throws whatever the agent threw, after it was reported; Error when this is no service.
 */
export async function runWindowsService(options: WindowsServiceOptions): Promise<AgentEnd> {
  return await new WindowsService(options).run();
}

class WindowsService implements ServiceManager {
  readonly watchdogMs = undefined;
  readonly #options: WindowsServiceOptions;
  readonly #orderly = new AbortController();
  /** Windows has no second, harder stop; it ends the process itself. */
  readonly #atOnce = new AbortController();
  readonly #pending = new AbortController();
  #status: ServiceStatus = {
    state: State.startPending,
    accepts: Accept.nothing,
    exitCode: WindowsError.none,
    specificCode: 0,
    checkPoint: 0,
    waitHintMs: WAIT_HINT_MS,
  };
  #result: Promise<AgentEnd> | undefined;

  constructor(options: WindowsServiceOptions) {
    this.#options = options;
  }

  async run(): Promise<AgentEnd> {
    const { control } = this.#options;
    await control.dispatch(WINDOWS_SERVICE, {
      started: () => {
        this.#result ??= this.#work();
        // Whoever waits for the dispatcher sees it; it must not count as unseen before.
        this.#result.catch(() => {});
      },
      control: (code) => this.#onControl(code),
    });
    if (!this.#result) throw new Error("the service was never started");
    return await this.#result;
  }

  ready(): void {
    if (this.#status.state !== State.startPending) return;
    this.#report({ state: State.running, accepts: ACCEPTS, checkPoint: 0, waitHintMs: 0 });
  }

  stopping(): void {
    if (this.#status.state === State.stopPending || this.#status.state === State.stopped) return;
    const accepts = Accept.nothing;
    this.#report({
      state: State.stopPending,
      accepts,
      checkPoint: 1,
      waitHintMs: WAIT_HINT_MS,
    });
  }

  status(): void {}

  alive(): void {}

  #onControl(code: number): number {
    switch (code) {
      case Control.stop:
      case Control.shutdown:
      case Control.preshutdown:
        this.stopping();
        this.#orderly.abort();
        return WindowsError.none;
      case Control.interrogate:
        this.#report({});
        return WindowsError.none;
      default:
        return WindowsError.callNotImplemented;
    }
  }

  async #work(): Promise<AgentEnd> {
    this.#report({});
    const pending = this.#keepPending();
    try {
      const stop = { orderly: this.#orderly.signal, atOnce: this.#atOnce.signal };
      const end = await this.#options.work(this, stop);
      await this.#finish(end, end === "update" ? UPDATE_EXIT_CODE : 0, pending);
      return end;
    } catch (error) {
      await this.#finish(toError(error), 1, pending);
      throw error;
    }
  }

  /** Reports on while a start or a stop takes its time. */
  async #keepPending(): Promise<void> {
    const { clock } = this.#options;
    const turn = () => {
      const { state, checkPoint } = this.#status;
      const isPending = state === State.startPending || state === State.stopPending;
      if (isPending) this.#report({ checkPoint: checkPoint + 1 });
    };
    const waits = { clock, intervalMs: REPORT_EVERY_MS, firstMs: REPORT_EVERY_MS };
    await pollLoop(turn, waits, this.#pending.signal);
  }

  async #finish(end: AgentEnd | Error, code: number, pending: Promise<void>): Promise<void> {
    this.stopping();
    try {
      await this.#options.beforeStopped?.(end);
    } finally {
      this.#pending.abort();
      await pending;
      this.#report({
        state: State.stopped,
        accepts: Accept.nothing,
        exitCode: code === 0 ? WindowsError.none : WindowsError.serviceSpecific,
        specificCode: code,
        checkPoint: 0,
        waitHintMs: 0,
      });
    }
  }

  #report(change: Partial<ServiceStatus>): void {
    this.#status = { ...this.#status, ...change };
    this.#options.control.report(this.#status);
  }
}
