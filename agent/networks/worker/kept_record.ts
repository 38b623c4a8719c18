import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ConnectionAttempt } from "../../provisioning/provisioning_port.ts";
import type { DiskNotice } from "../store/disk_notice.ts";
import type { NetworkStore } from "../store/network_store.ts";
import {
  initialRecord,
  type Moment,
  type NetworkEffect,
  type NetworkEvent,
  type NetworkRecord,
  STATE_NAMES,
} from "../state_machine/network_state.ts";
import { next } from "../state_machine/table.ts";

export interface KeptRecordOptions {
  readonly store: NetworkStore;
  readonly disk: DiskNotice;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The state machine's record: moved on by events, and on disk as far as a restart needs it. */
export class KeptRecord {
  readonly #options: KeptRecordOptions;
  /** How an earlier run ended with what a person gave. */
  readonly attempt: ConnectionAttempt | undefined;
  #now: NetworkRecord;
  #since: Date;
  #saved = "";

  constructor(options: KeptRecordOptions) {
    this.#options = options;
    const kept = options.store.record();
    this.attempt = kept.attempt;
    this.#now = initialRecord(options.clock.monotonicMs(), kept);
    this.#since = options.clock.now();
  }

  get now(): NetworkRecord {
    return this.#now;
  }

  /** When the state began, for people. */
  get since(): Date {
    return this.#since;
  }

  /** @returns what is to be done now, in this order. */
  move(event: NetworkEvent, moment: Moment): readonly NetworkEffect[] {
    const before = this.#now.state.kind;
    const { record, effects } = next(this.#now, event, moment);
    this.#now = record;
    const after = record.state.kind;
    if (before !== after) {
      this.#since = this.#options.clock.now();
      this.#options.log.info(`networks: ${STATE_NAMES[before]} -> ${STATE_NAMES[after]}`);
    }
    return effects;
  }

  /** @returns whether it is on disk. */
  save(attempt: ConnectionAttempt | undefined): boolean {
    const { store, clock, disk } = this.#options;
    const { offlineSinceMs, reboots } = this.#now;
    const text = JSON.stringify([offlineSinceMs, reboots, attempt]);
    if (text === this.#saved) return true;
    const offlineForMs = offlineSinceMs === undefined
      ? undefined
      : clock.monotonicMs() - offlineSinceMs;
    const isSaved = disk.try(() => {
      store.saveRecord({ offlineForMs, reboots, attempt });
      return true;
    });
    if (isSaved) this.#saved = text;
    return isSaved;
  }
}
