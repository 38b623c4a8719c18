/** The activities of the states. Each ends with an event, or without one to be begun again. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import type { MayRestart } from "./control.ts";
import { type Downloads, isPermanent, type Verify } from "./downloads.ts";
import type { UpdateLimits } from "./limits.ts";
import type { RollingBack, Swapping, Trial, Verified, Waiting } from "./record.ts";
import type { ProgramSlot } from "./slot.ts";
import { type Target, versionName } from "./target.ts";
import { TrialWatch } from "./trial_watch.ts";
import type { Turns } from "./turns.ts";
import type { UpdateEvent } from "./update_machine.ts";

export interface StepOptions {
  readonly slot: ProgramSlot;
  readonly downloader: Downloads;
  /** Checks the signature; throws when it is wrong. Default: nothing is checked. */
  readonly verify?: Verify;
  /**
   * Why a target must not be installed; undefined when it may. It is asked again before each step,
   * because what was written down may be from before the rules. Default: everything may.
   */
  readonly vet?: (
    target: Target,
    current: InstalledVersion | undefined,
  ) => Promise<string | undefined>;
  readonly mayRestart: MayRestart;
  readonly turns: Turns;
  readonly limits: UpdateLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What the steps need of the updater. */
export interface StepSupport {
  /**
   * The event, on disk when it returns.
   *
   * @throws {Error} it then did not happen.
   */
  apply(event: UpdateEvent): void;
  /** Tells people what is wrong; empty: nothing is. */
  tell(error: string): void;
  progressed(bytesDownloaded: number, totalBytes: number): void;
  /** Something was asked for since the step began. */
  hasNews(): boolean;
  /** Resolves when something is asked for; rejects with the signal's reason. */
  news(signal: AbortSignal): Promise<void>;
  /** Until something is asked for, at most so long. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export class Steps {
  /** Installs what is ready although the window is closed, once. */
  isForced = false;
  readonly #options: StepOptions;
  readonly #support: StepSupport;
  readonly #refusedBackoff: Backoff;
  readonly #swapBackoff: Backoff;
  #refusedUntilMs: number | undefined;
  #swapUntilMs = 0;
  #verifiedMs = 0;
  #watch: TrialWatch | undefined;

  constructor(options: StepOptions, support: StepSupport) {
    const { limits } = options;
    this.#options = options;
    this.#support = support;
    this.#refusedBackoff = new Backoff({ minMs: limits.refusedRetryMs, maxMs: DAY_MS });
    this.#swapBackoff = new Backoff({ minMs: limits.swapRetryMs, maxMs: HOUR_MS, jitter: false });
  }

  /** Healthy time of the trial that is watched. */
  get healthyMs(): number {
    return this.#watch?.healthyMs ?? 0;
  }

  /** Waits for nothing that was to come later. */
  hurry(): void {
    this.#swapUntilMs = 0;
    if (this.#refusedUntilMs !== undefined) this.#refusedUntilMs = 0;
  }

  /** Another state begins. */
  entered(): void {
    this.#watch = undefined;
  }

  /** Another target; what was refused before says nothing about it. */
  isNewTarget(): void {
    this.#refusedBackoff.reset();
    this.#refusedUntilMs = undefined;
  }

  /** @param address where the target lies now; links expire. */
  async download(
    target: Target,
    address: string,
    current: InstalledVersion | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { slot, log, clock, limits } = this.#options;
    if (await this.#isRefused(target, current)) return;
    try {
      const installed = await this.#obtain(target, address, signal);
      if (!installed) return;
      this.#verifiedMs = clock.monotonicMs();
      this.#support.tell("");
      this.#support.apply({ type: "fetched", installed });
    } catch (error) {
      if (signal.aborted || !isDownloadError(error)) throw error;
      const reason = error.message;
      const version = versionName(target);
      this.#support.tell(reason);
      if (!isPermanent(error)) {
        log.warn(`${slot.program} ${version} cannot be had now`, { error: reason });
        return await this.#support.pause(limits.askEveryMs, signal);
      }
      log.error(`${slot.program} ${version} is refused`, { error: reason });
      this.#refusedUntilMs = clock.monotonicMs() + this.#refusedBackoff.next();
      this.#support.apply({ type: "refused", reason });
    }
  }

  /** The current version is the wanted one; an address without a known hash may change its mind. */
  async rest(target: Target | undefined, signal: AbortSignal): Promise<void> {
    const { limits, log, slot } = this.#options;
    if (!target || target.sha256 !== "" || target.problem !== undefined) {
      return await this.#support.news(signal);
    }
    // The caller looks for another stamp.
    if (target.url.startsWith("file:")) return await this.#support.pause(limits.askEveryMs, signal);
    await this.#support.pause(limits.recheckMs, signal);
    if (this.#support.hasNews()) return;
    try {
      const installed = await this.#obtain(target, target.url, signal);
      if (installed) this.#support.apply({ type: "fetched", installed });
    } catch (error) {
      if (signal.aborted || !isDownloadError(error)) throw error;
      log.debug(`${slot.program}: cannot ask whether there is another`, { error: error.message });
    }
  }

  /** What was wanted cannot be had. */
  async hold(isBad: boolean, target: Target | undefined, signal: AbortSignal): Promise<void> {
    const { clock, limits } = this.#options;
    const mayChange = isBad && target?.sha256 === "";
    if (this.#refusedUntilMs === undefined) {
      if (!mayChange) {
        const isLocal = target?.url.startsWith("file:") === true;
        if (!isLocal) return await this.#support.news(signal);
        return await this.#support.pause(limits.askEveryMs, signal);
      }
      this.#refusedUntilMs = clock.monotonicMs() + limits.refusedRetryMs;
    }
    const leftMs = this.#refusedUntilMs - clock.monotonicMs();
    if (leftMs > 0) {
      const isLocal = target?.url.startsWith("file:") === true;
      const shortMs = isLocal ? Math.min(leftMs, limits.askEveryMs) : leftMs;
      return await this.#support.pause(shortMs, signal);
    }
    this.#refusedUntilMs = undefined;
    this.#support.apply({ type: "done" });
  }

  /** Asks whether it may be swapped in now. */
  async ask(
    state: Verified | Waiting,
    current: InstalledVersion | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { slot, mayRestart, turns, clock, limits } = this.#options;
    if (await this.#isRefused(state.candidate.target, current)) return;
    const notYet = async (why: string, since = clock.now()) => {
      this.#support.apply({ type: "not-yet", why, since: keptSince(state, why, since) });
      await this.#support.pause(limits.askEveryMs, signal);
    };
    const problem = slot.problem();
    if (problem !== undefined) return await notYet(problem);
    const leftMs = this.#swapUntilMs - clock.monotonicMs();
    if (leftMs > 0) return await this.#support.pause(leftMs, signal);
    // Also for a first version: the window knows whether something runs that would be disturbed.
    const may = this.isForced ? { allowed: true } as const : await mayRestart();
    if (this.#support.hasNews()) return;
    if (!may.allowed) return await notYet(may.why, may.since);
    // Nothing may be awaited from here to the event: the other program asks, too.
    const waitedMs = clock.monotonicMs() - this.#verifiedMs;
    const turn = turns.waitFor(slot.program, waitedMs, limits.agentFirstMs);
    if (turn !== undefined) return await notYet(turn);
    this.isForced = false;
    this.#support.apply({ type: "go", cloudBefore: slot.reachesCloud() });
  }

  async swap({ candidate }: Swapping, current: InstalledVersion | undefined): Promise<void> {
    const { slot, clock, log } = this.#options;
    log.info(`${slot.program} is exchanged`, {
      event: "update_swapped",
      version: versionName(candidate.target),
    });
    try {
      await slot.swap(candidate, current);
      this.#support.apply({ type: "swapped" });
    } catch (error) {
      const reason = toError(error).message;
      log.error(`${slot.program} cannot be exchanged; the version before stays`, { error: reason });
      await slot.undoSwap(current);
      this.#swapUntilMs = clock.monotonicMs() + this.#swapBackoff.next();
      return this.#support.apply({ type: "not-swapped", reason });
    }
    this.#swapBackoff.reset();
  }

  async try(trial: Trial, signal: AbortSignal): Promise<void> {
    const { slot, limits, clock, log } = this.#options;
    if (slot.beginTrial(trial.candidate) === "elsewhere") return await ended(signal);
    const watch = this.#watch ??= new TrialWatch(slot, trial, limits, clock);
    const event = watch.look(trial);
    this.#support.tell(watch.why);
    if (!event) {
      try {
        return await this.#support.pause(limits.lookEveryMs, signal);
      } finally {
        if (signal.aborted) await slot.leaveTrial();
      }
    }
    if (event.type === "failed" || event.type === "unhealthy") {
      const version = versionName(trial.candidate.target);
      log.error(`${slot.program} ${version} is on trial: ${event.reason}`);
    }
    this.#support.apply(event);
    watch.taken(event);
  }

  async rollBack(
    { candidate, reason }: RollingBack,
    current: InstalledVersion | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { slot, log } = this.#options;
    if (current) {
      log.error(`${slot.program} goes back to ${versionName(current)}`, {
        event: "update_rolled_back",
        from: versionName(candidate.target),
        reason,
      });
      const continues = await slot.rollBack(candidate, current, reason);
      if (continues === "elsewhere") return await ended(signal);
    }
    this.#support.apply({ type: "done" });
  }

  /** Takes the rules of the machine's owner over whatever was decided before. */
  async #isRefused(target: Target, current: InstalledVersion | undefined): Promise<boolean> {
    const { slot, vet, log } = this.#options;
    const reason = await vet?.(target, current);
    if (reason === undefined) return false;
    log.error(`${slot.program} ${versionName(target)} is refused`, {
      event: "update_refused",
      error: reason,
    });
    this.#support.apply({ type: "refused", reason });
    return true;
  }

  /** Undefined when something was asked for first: it may have been to give up. */
  async #obtain(
    target: Target,
    address: string,
    signal: AbortSignal,
  ): Promise<InstalledVersion | undefined> {
    const { slot, downloader, verify } = this.#options;
    const { version, url, sha256, size, stamp } = target;
    const rest = linkedController(signal);
    const obtained = downloader.obtain(
      {
        program: slot.program,
        version,
        url: address,
        sha256: sha256 || undefined,
        size: size || undefined,
        verify: verify && ((facts) => verify(target, facts)),
      },
      ({ bytesDownloaded, totalBytes, error = "" }) => {
        this.#support.tell(error);
        this.#support.progressed(bytesDownloaded, totalBytes);
      },
      rest.signal,
    );
    const asked = this.#support.news(rest.signal).then(() => undefined, () => undefined);
    try {
      const file = await Promise.race([obtained, asked]);
      if (!file) return undefined;
      const stamped = stamp === undefined ? {} : { stamp };
      return { version, url, path: file.path, sha256: file.sha256, ...stamped };
    } catch (error) {
      if (signal.aborted) throw error;
      throw new FailedDownload(error);
    } finally {
      rest.abort();
      await obtained.catch(() => {}); // told above, or of no interest any more
    }
  }
}

/** Tells what the downloader threw from what a database or a bug did. */
class FailedDownload extends Error {
  readonly permanent: boolean;

  constructor(cause: unknown) {
    super(toError(cause).message, { cause });
    this.permanent = isPermanent(cause);
  }
}

const isDownloadError = (error: unknown): error is FailedDownload =>
  error instanceof FailedDownload;

/** The same reason has been there since it was told first. */
function keptSince(state: Verified | Waiting, why: string, since: Date): Date {
  return state.kind === "waiting" && state.why === why ? new Date(state.since) : since;
}

/** The service starts another agent soon. */
function ended(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
