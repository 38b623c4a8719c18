import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { AgentState } from "../../state/agent_state.ts";
import type { FilesInUse } from "../downloads/files_in_use.ts";
import type { UpdateLimits } from "./limits.ts";
import { filesOf, fromText, newRecord, type ProgramRecord, toText } from "./record.ts";
import type { ShownProgress } from "./shown_progress.ts";
import type { ProgramSlot } from "./slot.ts";
import { versionName } from "./target.ts";
import { next, type UpdateEvent } from "./update_machine.ts";

export interface RecordKeeperOptions {
  readonly slot: ProgramSlot;
  readonly state: Pick<AgentState, "update" | "saveUpdate">;
  readonly shown: ShownProgress;
  /** Gets the files that the record names. */
  readonly inUse: FilesInUse;
  readonly limits: UpdateLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Events after which another version may run, or the one before is abandoned permanently. */
const FORWARD: ReadonlySet<UpdateEvent["type"]> = new Set(["go", "swapped", "passed"]);

/** The record of one program's update, on disk and in memory. */
export class RecordKeeper {
  #record: ProgramRecord | undefined;
  #isUnsaved = false;
  #entries = 0;

  constructor(private readonly options: RecordKeeperOptions) {}

  /** Undefined until {@link begin} is through. */
  get record(): ProgramRecord | undefined {
    return this.#record;
  }

  /** The disk did not take the record as it is in memory. */
  get isUnsaved(): boolean {
    return this.#isUnsaved;
  }

  /** Another number with each state that is entered. */
  get entries(): number {
    return this.#entries;
  }

  /** Takes up where the last run of the agent ended, however it did. */
  async begin(): Promise<void> {
    const { slot, state, clock, log } = this.options;
    const text = state.update(slot.program);
    const kept = text === undefined ? undefined : fromText(text);
    if (text !== undefined && !kept) {
      log.error(`what is kept of the update of ${slot.program} cannot be read; the links count`, {
        event: "state_damaged",
      });
    }
    const isFirst = kept && ["swapping", "trial"].includes(kept.state.kind);
    const record = kept?.current || isFirst
      ? kept
      : { ...(kept ?? newRecord(undefined, clock.now())), current: await slot.found() };
    const events = [...await slot.resume(record)];
    if (record.state.kind === "held") events.push({ type: "done" });
    this.#hold(events.reduce((before, event) => this.#next(before, event), record));
  }

  /**
   * On disk first, then in memory. A step forward that the disk does not take is not made; the way
   * back, and what is found again at each start, does not wait for the disk.
   *
   * @throws {Error} of a step forward; nothing has changed.
   */
  apply(event: UpdateEvent): void {
    if (this.#record) this.#hold(this.#next(this.#record, event));
  }

  /** Tries once more to write what the disk did not take. */
  saveAgain(): void {
    if (!this.#isUnsaved || !this.#record) return;
    try {
      this.#save(this.#record);
    } catch {
      // Logged already; tried again.
    }
  }

  #hold(record: ProgramRecord): void {
    this.#record = record;
    this.options.inUse.set(this.options.slot.program, filesOf(record));
  }

  #next(before: ProgramRecord, event: UpdateEvent): ProgramRecord {
    const { slot: { program }, clock, limits, log, shown } = this.options;
    const after = next(before, event, { now: clock.now(), limits });
    if (after === before) return before;
    try {
      this.#save(after);
    } catch (error) {
      if (FORWARD.has(event.type)) throw error;
      log.error(`the update of ${program} cannot be kept on disk`, {
        event: "state_not_written",
        error,
      });
      this.#isUnsaved = true;
    }
    const { kind } = after.state;
    if (kind !== before.state.kind) {
      log.info(`update of ${program}: ${kind}`, { event: "update_state", ...fieldsOf(after) });
      this.#entries++;
      shown.clear();
    }
    shown.changed.value++;
    return after;
  }

  #save(record: ProgramRecord): void {
    const { slot: { program }, state, clock } = this.options;
    const { kind } = record.state;
    faultPoint(`update.${kind}.before-save`);
    state.saveUpdate(program, toText(record), clock.now());
    faultPoint(`update.${kind}.after-save`);
    this.#isUnsaved = false;
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
