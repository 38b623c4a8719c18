import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Watched } from "../../../shared/workers/watched.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { Fetching } from "./fetching.ts";
import { isFile } from "./found_version.ts";
import { Installing } from "./installing.ts";
import { withStamp } from "./local_stamp.ts";
import { Orders } from "./orders.ts";
import { chosenVersion, newRecord, type ProgramRecord } from "./record.ts";
import { RecordKeeper } from "./record_keeper.ts";
import { ShownProgress } from "./shown_progress.ts";
import { type ProgramSnapshot, snapshotOf } from "./snapshot.ts";
import { isSameTarget, type Target } from "./target.ts";
import type { UpdateOptions } from "./update_parts.ts";

/**
 * Takes one program from version to version. Decides nothing itself: update_machine.ts says what
 * an event means, fetching.ts, installing.ts and the slot know how something is done. Each state is
 * on disk before its activity begins, and each activity may begin again, so a kill at any moment
 * leads on.
 */
export class Updater {
  readonly #options: UpdateOptions;
  readonly #orders: Orders;
  readonly #shown = new ShownProgress();
  readonly #keeper: RecordKeeper;
  readonly #fetching: Fetching;
  readonly #installing: Installing;
  #hasAsked = false;

  constructor(options: UpdateOptions) {
    const { slot, turns, clock } = options;
    this.#options = options;
    this.#orders = new Orders(clock);
    this.#keeper = new RecordKeeper({ ...options, shown: this.#shown });
    const shared = { orders: this.#orders, shown: this.#shown, keeper: this.#keeper };
    const parts = { ...options, ...shared };
    this.#fetching = new Fetching(parts);
    this.#installing = new Installing(parts);
    turns.join(slot.program, () => ({
      state: this.#keeper.record?.state,
      isStuck: this.#shown.error !== "" || slot.problem() !== undefined,
    }));
  }

  /** Set at each change of what {@link snapshot} shows. */
  get changed(): Watched<number> {
    return this.#shown.changed;
  }

  /** The version that should run; undefined while none may, or there is none. */
  get chosen(): InstalledVersion | undefined {
    return this.#keeper.record && chosenVersion(this.#keeper.record);
  }

  /** The version that passed its trial last; undefined when there is none or it is not known yet. */
  get trusted(): InstalledVersion | undefined {
    return this.#keeper.record?.current;
  }

  /** What the cloud wants; undefined when it names nothing. */
  setTarget(target: Target | undefined): void {
    this.#orders.setTarget(target);
  }

  /** Installs what is ready although the window is closed, once. */
  force(): void {
    this.#orders.force();
  }

  /** Lets a bad version be tried again; all of them without a name. */
  forgetBad(version?: string): void {
    this.#orders.forgetBad(version);
  }

  /** The file of the version in use is gone: the one before runs until it is fetched again. */
  async lose(path: string): Promise<void> {
    const { current, previous } = this.#keeper.record ?? {};
    if (current?.path !== path) return;
    this.#orders.lose(previous && await isFile(previous.path) ? previous : undefined);
  }

  snapshot(): ProgramSnapshot {
    const { slot: { program }, clock, limits: { trialMs } } = this.#options;
    const now = clock.now();
    const { bytes, error } = this.#shown;
    return snapshotOf(
      program,
      this.#keeper.record ?? newRecord(undefined, now),
      { ...bytes, error, healthyMs: this.#installing.healthyMs },
      { now, trialMs },
    );
  }

  /** Works until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { slot: { program }, log, clock, limits } = this.#options;
    const backoff = new Backoff({ minMs: limits.lookEveryMs, maxMs: limits.swapRetryMs });
    while (!signal.aborted) {
      try {
        if (!this.#keeper.record) await this.#keeper.begin();
        await this.#turn(signal);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        // A disk that is full or read-only, mostly. What runs continues.
        log.error(`the update of ${program} failed; retrying`, {
          event: "update_blocked",
          error,
        });
        this.#shown.fail(toError(error).message);
        await clock.sleep(Math.max(limits.lookEveryMs, backoff.next()), signal).catch(() => {});
      }
    }
  }

  /** One activity of the state that the record is in. */
  async #turn(signal: AbortSignal): Promise<void> {
    this.#orders.begin();
    const { state, current, target } = await this.#readOrders();
    const { slot } = this.#options;
    slot.letRun(this.chosen);
    this.#keeper.saveAgain();
    switch (state.kind) {
      case "idle":
        return await this.#fetching.rest(target, signal);
      case "held":
        return await this.#fetching.hold(state.isBad, target, signal);
      case "downloading":
        if (await this.#fetching.download(state.target, current, signal)) {
          this.#installing.verified();
        }
        return;
      case "verified":
      case "waiting":
        return await this.#installing.ask(state, current, signal);
      case "swapping":
        return await this.#installing.swap(state, current);
      case "trial":
        return await this.#installing.try(state, signal);
      case "committing":
        await slot.commit();
        return this.#keeper.apply({ type: "done" });
      case "rolling-back":
        return await this.#installing.rollBack(state, current, signal);
      case "committed":
      case "rolled-back":
        await slot.tidy();
        this.#keeper.apply({ type: "done" });
        return this.#options.cleaner.cleanSoon();
    }
  }

  /** Brings what the cloud and the operator want into the record. */
  async #readOrders(): Promise<ProgramRecord> {
    const { wish, inbox } = this.#orders;
    if (wish) {
      const { target } = wish;
      const stamped = target && await withStamp(target);
      if (!isSameTarget(stamped, this.#keeper.record?.target)) {
        this.#keeper.apply({ type: "target", target: stamped });
      }
      if (!target && !this.#keeper.record?.current) this.#askForVersion();
    }
    for (let event = inbox[0]; event; event = inbox[0]) {
      this.#keeper.apply(event);
      inbox.shift();
    }
    return this.#keeper.record ?? newRecord(undefined, this.#options.clock.now());
  }

  #askForVersion(): void {
    const { slot: { program }, log } = this.#options;
    if (this.#hasAsked) return;
    this.#hasAsked = true;
    log.error(
      `the cloud names no ${program} to run; set agent.version_control.${program} in the ` +
        "machine's configuration to a version, stable, or file:///PATH",
      { event: "no_version_named" },
    );
  }
}
