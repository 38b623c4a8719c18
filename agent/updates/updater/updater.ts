import { toError } from "../../../shared/base/errors/to_error.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { AgentState, InstalledVersion } from "../../state/agent_state.ts";
import { anyChange, Watched } from "../../../shared/workers/watched.ts";
import { withStamp } from "./local_stamp.ts";
import { chosenVersion, fromText, newRecord, type ProgramRecord, toText } from "./record.ts";
import { type ProgramSnapshot, snapshotOf } from "./snapshot.ts";
import { type StepOptions, Steps } from "./steps.ts";
import { isSameTarget, type Target, versionName } from "./target.ts";
import { next, type UpdateEvent } from "./update_machine.ts";

export interface UpdaterOptions extends StepOptions {
  readonly state: Pick<AgentState, "update" | "saveUpdate">;
  /** Told when a version was trusted or given up, and its files may be looked at. Must not throw. */
  readonly onSettled?: () => void;
}

/** Events after which another version may run, or the one before is given up for good. */
const FORWARD: ReadonlySet<UpdateEvent["type"]> = new Set(["go", "swapped", "passed"]);

/**
 * Takes one program from version to version. Decides nothing itself: update_machine.ts says what
 * an event means, the steps and the slot know how something is done. Each state is on disk before
 * its activity begins, and each activity may begin anew, so a kill at any moment leads on.
 */
export class Updater {
  /** Set at each change of what {@link snapshot} tells. */
  readonly changed = new Watched(0);
  readonly #options: UpdaterOptions;
  readonly #steps: Steps;
  readonly #asked = new Watched(0);
  /** Of {@link #asked}; what came later is news. */
  #heard = 0;
  #record: ProgramRecord | undefined;
  #inbox: UpdateEvent[] = [];
  /** Undefined: the cloud was not heard of in this run. */
  #wish: { readonly target: Target | undefined } | undefined;
  #hasAsked = false;
  /** The disk did not take the record as it is in memory. */
  #isUnsaved = false;
  #error = "";
  #progress = { bytesDownloaded: 0, totalBytes: 0 };

  constructor(options: UpdaterOptions) {
    const { slot, turns } = options;
    this.#options = options;
    this.#steps = new Steps(options, {
      apply: (event) => this.#apply(event),
      tell: (error) => this.#tell(error),
      progressed: (bytesDownloaded, totalBytes) => {
        this.#progress = { bytesDownloaded, totalBytes };
        this.changed.value++;
      },
      hasNews: () => this.#asked.value !== this.#heard,
      news: (signal) => this.#news(signal),
      pause: (ms, signal) => this.#pause(ms, signal),
    });
    turns.join(slot.program, () => ({
      state: this.#record?.state ?? { kind: "idle" },
      isStuck: this.#error !== "" || slot.problem() !== undefined,
    }));
  }

  /** The version that ought to run; undefined while none may, or there is none. */
  get chosen(): InstalledVersion | undefined {
    return this.#record && chosenVersion(this.#record);
  }

  /** The version that stood its trial last; undefined when there is none or it is not known yet. */
  get trusted(): InstalledVersion | undefined {
    return this.#record?.current;
  }

  /** Files that must not be removed from the cache. */
  get keptFiles(): readonly string[] {
    if (!this.#record) return [];
    const { state, current, previous } = this.#record;
    const candidate = "candidate" in state ? state.candidate.installed : undefined;
    return [current, previous, candidate].flatMap((version) => version?.path ?? []);
  }

  /** What the cloud wants; undefined when it names nothing. */
  setTarget(target: Target | undefined): void {
    const isNews = !this.#wish || !isSameTarget(this.#wish.target, target);
    this.#wish = { target };
    if (isNews) this.#asked.value++;
  }

  /** Installs what is ready although the window is closed, once. */
  force(): void {
    this.#steps.isForced = true;
    this.#steps.hurry();
    this.#asked.value++;
  }

  /** Lets a bad version be tried again; all of them without a name. */
  forgetBad(version?: string): void {
    this.#inbox.push({ type: "forget-bad", version });
    this.#steps.hurry();
    this.#asked.value++;
  }

  snapshot(): ProgramSnapshot {
    const { slot: { program }, clock, limits: { trialMs } } = this.#options;
    const now = clock.now();
    return snapshotOf(
      program,
      this.#record ?? newRecord(undefined, now),
      { ...this.#progress, error: this.#error, healthyMs: this.#steps.healthyMs },
      { now, trialMs },
    );
  }

  /** Works until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { slot: { program }, log, clock, limits } = this.#options;
    const backoff = new Backoff({ minMs: limits.lookEveryMs, maxMs: limits.swapRetryMs });
    while (!signal.aborted) {
      try {
        this.#record ??= await this.#begin();
        await this.#turn(signal);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        // A disk that is full or read-only, mostly. What runs goes on.
        log.error(`the update of ${program} cannot go on; tried again`, { error });
        this.#tell(toError(error).message);
        await clock.sleep(Math.max(limits.lookEveryMs, backoff.next()), signal).catch(() => {});
      }
    }
  }

  /** One activity of the state that the record is in. */
  async #turn(signal: AbortSignal): Promise<void> {
    this.#heard = this.#asked.value;
    const { state, current, target } = await this.#readInbox();
    const { slot } = this.#options;
    slot.letRun(this.chosen);
    if (this.#isUnsaved) this.#saveAgain();
    switch (state.kind) {
      case "idle":
        return await this.#steps.rest(target, signal);
      case "held":
        return await this.#steps.hold(state.isBad, target, signal);
      case "downloading":
        return await this.#steps.download(
          state.target,
          this.#addressOf(state.target),
          current,
          signal,
        );
      case "verified":
      case "waiting":
        return await this.#steps.ask(state, current, signal);
      case "swapping":
        return await this.#steps.swap(state, current);
      case "trial":
        return await this.#steps.try(state, signal);
      case "committing":
        await slot.commit();
        return this.#apply({ type: "done" });
      case "rolling-back":
        return await this.#steps.rollBack(state, current, signal);
      case "committed":
      case "rolled-back":
        await slot.tidy();
        this.#apply({ type: "done" });
        return this.#options.onSettled?.();
    }
  }

  /** Takes up where the last run of the agent ended, however it did. */
  async #begin(): Promise<ProgramRecord> {
    const { slot, state, clock, log } = this.#options;
    const text = state.update(slot.program);
    const kept = text === undefined ? undefined : fromText(text);
    if (text !== undefined && !kept) {
      log.error(`what is kept of the update of ${slot.program} cannot be read; the links count`);
    }
    const isFirst = kept && ["swapping", "trial"].includes(kept.state.kind);
    const record = kept?.current || isFirst
      ? kept
      : { ...(kept ?? newRecord(undefined, clock.now())), current: await slot.found() };
    const events = [...await slot.resume(record)];
    if (record.state.kind === "held") events.push({ type: "done" });
    return events.reduce((before, event) => this.#next(before, event), record);
  }

  /** Looks at what the cloud and the operator want. */
  async #readInbox(): Promise<ProgramRecord> {
    if (this.#wish) {
      const { target } = this.#wish;
      const stamped = target && await withStamp(target);
      if (!isSameTarget(stamped, this.#record?.target)) {
        this.#steps.isNewTarget();
        this.#apply({ type: "target", target: stamped });
      }
      if (!target && !this.#record?.current) this.#askForVersion();
    }
    for (let event = this.#inbox[0]; event; event = this.#inbox[0]) {
      this.#apply(event);
      this.#inbox.shift();
    }
    return this.#record ?? newRecord(undefined, this.#options.clock.now());
  }

  #askForVersion(): void {
    const { slot: { program }, log } = this.#options;
    if (this.#hasAsked) return;
    this.#hasAsked = true;
    log.error(
      `the cloud names no ${program} to run; set agent.version_control.${program} in the ` +
        "machine's configuration to a version, stable, or file:///PATH",
    );
  }

  /**
   * On disk first, then in memory. A step forward that the disk does not take is not made; the way
   * back, and what is found anew at each start, does not wait for the disk.
   *
   * @throws {Error} of a step forward; nothing has changed.
   */
  #apply(event: UpdateEvent): void {
    if (this.#record) this.#record = this.#next(this.#record, event);
  }

  #next(before: ProgramRecord, event: UpdateEvent): ProgramRecord {
    const { slot: { program }, clock, limits, log } = this.#options;
    const after = next(before, event, { now: clock.now(), limits });
    if (after === before) return before;
    try {
      this.#save(after);
    } catch (error) {
      if (FORWARD.has(event.type)) throw error;
      log.error(`the update of ${program} cannot be kept on disk`, { error });
      this.#isUnsaved = true;
    }
    const { kind } = after.state;
    if (kind !== before.state.kind) {
      log.info(`update of ${program}: ${kind}`, { event: "update_state", ...fieldsOf(after) });
      this.#steps.entered();
      this.#error = "";
      this.#progress = { bytesDownloaded: 0, totalBytes: 0 };
    }
    this.changed.value++;
    return after;
  }

  #saveAgain(): void {
    try {
      if (this.#record) this.#save(this.#record);
    } catch {
      // Told already; tried again.
    }
  }

  #save(record: ProgramRecord): void {
    const { slot: { program }, state, clock } = this.#options;
    const { kind } = record.state;
    faultPoint(`update.${kind}.before-save`);
    state.saveUpdate(program, toText(record), clock.now());
    faultPoint(`update.${kind}.after-save`);
    this.#isUnsaved = false;
  }

  /** The cloud's newest link to a file, when the content is known. */
  #addressOf({ url, sha256 }: Target): string {
    const wish = this.#wish?.target;
    return wish && sha256 !== "" && wish.sha256 === sha256 ? wish.url : url;
  }

  #tell(error: string): void {
    if (error === this.#error) return;
    this.#error = error;
    this.changed.value++;
  }

  async #news(signal: AbortSignal): Promise<void> {
    if (this.#isUnsaved) return await this.#pause(this.#options.limits.swapRetryMs, signal);
    if (this.#asked.value === this.#heard) await this.#asked.changed(signal);
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#asked.value !== this.#heard) return;
    await anyChange([this.#asked], signal, { clock: this.#options.clock, ms });
  }
}

function fieldsOf({ state }: ProgramRecord): Record<string, unknown> {
  const target = "candidate" in state
    ? state.candidate.target
    : "target" in state
    ? state.target
    : undefined;
  return {
    ...(target ? { version: versionName(target) } : {}),
    ...("reason" in state ? { reason: state.reason } : {}),
    ...("problem" in state ? { problem: state.problem } : {}),
    ...("why" in state ? { why: state.why } : {}),
  };
}
