import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { DeliveryQueues, type EndpointSign, type Waiting } from "./delivery_queues.ts";
import {
  type AttemptRecord,
  type DeliveryRow,
  type DeliveryStore,
  PENDING_PAGE,
} from "./delivery_store.ts";
import { type AttemptOutcome, nextAttemptAt, pauseAfter, TRY_FOR_MS } from "./retry_policy.ts";

/** Makes one attempt. Rejects only when the signal aborts. */
export type SendNotification = (row: DeliveryRow, signal: AbortSignal) => Promise<AttemptOutcome>;

/** Notified of every attempt that failed. */
export type NoteFailure = (row: DeliveryRow, outcome: AttemptOutcome, at: Date) => Promise<void>;

export interface DelivererOptions {
  readonly store: DeliveryStore;
  readonly send: SendNotification;
  readonly failed: NoteFailure;
  /** Whether this process is the one that sends; others only count. Left out: always. */
  readonly isSender?: () => boolean;
  /** Changes when another process wrote to the database. */
  readonly foreignVersion: () => number;
  readonly clock: Clock;
  /** By it, notifications expire; left out: `clock`. */
  readonly cautious?: Pick<Clock, "now">;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** More notifications of one trigger do not wait; what comes then is left out and counted. */
export const MOST_WAITING_PER_TRIGGER = 10_000;
/** How long requests under way may take when the cloud ends. */
const GRACE_MS = 3_000;
const POLL_MS = 1_000;
const TRY_AGAIN_MS = 1_000;
const LONGEST_HOLD_MS = 5 * 60_000;
const MOST_UNRECORDED = 1_000;
/** Notifications whose content is read together. */
const AT_ONCE = 64;

/**
 * Brings notifications to their receivers, each at least once. The database is what counts: what is
 * there and waits is sent, and only what was written down as delivered is not sent again.
 */
export class Deliverer {
  readonly #queues = new DeliveryQueues();
  readonly #waitingByTrigger = new Map<string, number>();
  readonly #ending = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #unrecorded: { record: AttemptRecord; row: DeliveryRow; one: Waiting; sign: EndpointSign }[] = [];
  #recording: Promise<void> | undefined;
  #lastSeq = 0;
  #foreign: number;
  /** Something new may be in the database. */
  #isAwake = false;
  /** Something may be begun that could not be when it was looked at last. */
  #isAsked = false;
  #pumping: Promise<void> | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(private readonly options: DelivererOptions) {
    this.#foreign = options.foreignVersion();
  }

  /** Starts with what waits from earlier runs. */
  start(): void {
    this.wake();
  }

  /** Something was committed that may have to be sent. Returns at once. */
  wake(): void {
    this.#isAwake = true;
    this.#pump();
  }

  /** Something that was over waits again, or another process may have made something wait. */
  lookAgain(): void {
    this.#lastSeq = 0;
    this.wake();
  }

  /** How many notifications of a trigger wait, as far as is known. */
  waitingOf(partId: string, triggerName: string): number {
    return this.#waitingByTrigger.get(triggerKey(partId, triggerName)) ?? 0;
  }

  /** Ends what is under way, and writes down how it went. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#pumping;
    const { clock } = this.options;
    const cut = clock.setTimer(
      GRACE_MS,
      () => this.#ending.abort(new Error("the cloud is shutting down")),
    );
    await Promise.all(this.#underWay);
    cut.cancel();
    await this.#recording;
    if (this.#unrecorded.length > 0) await this.#recordAll();
  }

  #pump(): void {
    this.#isAsked = true;
    if (this.#closed || this.#pumping) return;
    this.#pumping = this.#work().catch((error) => {
      const { log } = this.options;
      log.error("cannot read which notifications wait; retrying", {
        event: "delivery_failed",
        error: String(error),
      });
      this.#isAwake = true;
      return TRY_AGAIN_MS;
    }).then((pauseMs) => {
      this.#pumping = undefined;
      // Somebody may have asked after the last look and before this.
      if (this.#isAsked && pauseMs === 0) this.#pump();
      else this.#setTimer(pauseMs);
    });
  }

  /** Gives back how long nothing can be started, whatever is due. */
  async #work(): Promise<number> {
    for (;;) {
      this.#isAsked = false;
      if (this.#closed) return 0;
      if (this.#unrecorded.length >= MOST_UNRECORDED) return TRY_AGAIN_MS;
      const isSender = this.options.isSender?.() ?? true;
      if (this.#isAwake) await this.#readNew(isSender);
      if (!isSender) return 0;
      await this.#feed();
      const taken = this.#queues.take(this.#nowMs(), AT_ONCE);
      if (taken.length === 0 && !this.#isAwake) return 0;
      await this.#start(taken);
    }
  }

  async #readNew(isSender: boolean): Promise<void> {
    this.#isAwake = false;
    const isLookingAgain = this.#lastSeq === 0;
    if (isLookingAgain) this.#waitingByTrigger.clear();
    for (;;) {
      const { store } = this.options;
      const rows = isLookingAgain
        ? await store.allPendingAfter(this.#lastSeq)
        : await store.pendingAfter(this.#lastSeq);
      for (const row of rows) {
        const key = triggerKey(row.part_id, row.trigger_name);
        this.#waitingByTrigger.set(key, (this.#waitingByTrigger.get(key) ?? 0) + 1);
        if (isSender) this.#queues.add(this.#toWaiting(row));
      }
      this.#lastSeq = rows.at(-1)?.seq ?? this.#lastSeq;
      if (rows.length < PENDING_PAGE) return;
    }
  }

  async #feed(): Promise<void> {
    for (const endpoint of this.#queues.takeHungry()) {
      for (const row of await this.options.store.pendingOf(endpoint)) {
        this.#queues.add(this.#toWaiting(row));
      }
    }
  }

  async #start(taken: readonly Waiting[]): Promise<void> {
    if (taken.length === 0) return;
    let rows: DeliveryRow[];
    try {
      rows = await this.options.store.read(taken.map(({ seq }) => seq));
    } catch (error) {
      for (const one of taken) this.#queues.notStarted(one, this.#nowMs() + TRY_AGAIN_MS);
      throw error;
    }
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    for (const one of taken) {
      const row = bySeq.get(one.seq);
      if (row === undefined || this.#closed) {
        this.#queues.notStarted(one, undefined);
        continue;
      }
      const attempt = this.#attempt(one, row).finally(() => this.#underWay.delete(attempt));
      this.#underWay.add(attempt);
    }
  }

  async #attempt(one: Waiting, row: DeliveryRow): Promise<void> {
    const { clock, send, failed, log } = this.options;
    faultPoint("delivery.before-send");
    const startedAt = clock.now();
    const startedMs = clock.monotonicMs();
    let outcome: AttemptOutcome;
    try {
      outcome = await send(row, this.#ending.signal);
    } catch (error) {
      // Only the end of the cloud ends a request: it is made again at the next start.
      if (this.#ending.signal.aborted) return this.#queues.notStarted(one, undefined);
      outcome = { kind: "retryable", error: String(error), response: "" };
    }
    faultPoint("delivery.after-send");
    const durationMs = Math.max(0, Math.round(clock.monotonicMs() - startedMs));
    const number = row.attempts + 1;
    const againMs = outcome.kind === "retryable"
      ? nextAttemptAt(number, outcome, {
        nowMs: this.#dateMs(),
        expiresAtMs: row.expires_at,
        random: this.#random(),
      })
      : undefined;
    if (outcome.kind !== "delivered") {
      await failed(row, outcome, startedAt).catch((error) =>
        log.error("cannot log that a notification failed", {
          event: "delivery_failed",
          error: String(error),
        })
      );
    }
    const startedAtMs = startedAt.getTime();
    const record = { seq: row.seq, number, startedAtMs, durationMs, outcome, againMs };
    this.#unrecorded.push({ record, row, one, sign: this.#signOf(outcome, number) });
    this.#record();
  }

  #signOf(outcome: AttemptOutcome, attempts: number): EndpointSign {
    // What is refused for good says nothing of the others.
    if (outcome.kind !== "retryable" || outcome.isOfOneRecipient) return { kind: "well" };
    const { retryAfterMs = 0, statusCode } = outcome;
    const pauseMs = Math.min(LONGEST_HOLD_MS, pauseAfter(attempts, this.#random()));
    const holdUntilMs = this.#nowMs() + Math.max(pauseMs, Math.min(retryAfterMs, LONGEST_HOLD_MS));
    const isUnreachable = statusCode === undefined || outcome.retryAfterMs !== undefined;
    return { kind: isUnreachable ? "unreachable" : "failed", holdUntilMs };
  }

  /** Writes down what is over, many at once where many are. */
  #record(): void {
    this.#recording ??= this.#recordAll().finally(() => {
      this.#recording = undefined;
      // One may have ended after the last look and before this.
      if (this.#unrecorded.length > 0 && !this.#closed) this.#record();
    });
  }

  async #recordAll(): Promise<void> {
    const { store, log, clock } = this.options;
    while (this.#unrecorded.length > 0) {
      const batch = this.#unrecorded;
      this.#unrecorded = [];
      try {
        await store.record(batch.map(({ record }) => record));
      } catch (error) {
        log.error("cannot write down what was delivered; retrying", {
          event: "delivery_failed",
          error: String(error),
        });
        this.#unrecorded = [...batch, ...this.#unrecorded];
        // What is not written down when the cloud ends is sent again, with the same id.
        if (this.#closed) return;
        await clock.sleep(TRY_AGAIN_MS);
        continue;
      }
      for (const { record, row, one, sign } of batch) {
        const { againMs } = record;
        this.#queues.ended(one, sign, againMs === undefined ? undefined : this.#dueMs(againMs));
        if (record.againMs === undefined) this.#noLongerWaits(row);
      }
      this.#pump();
    }
  }

  #noLongerWaits(row: DeliveryRow): void {
    const key = triggerKey(row.part_id, row.trigger_name);
    const left = (this.#waitingByTrigger.get(key) ?? 0) - 1;
    if (left > 0) this.#waitingByTrigger.set(key, left);
    else this.#waitingByTrigger.delete(key);
  }

  #setTimer(pauseMs: number): void {
    this.#timer?.cancel();
    if (this.#closed) return;
    const next = this.#queues.nextMs();
    const waitMs = next === undefined ? POLL_MS : Math.min(POLL_MS, next - this.#nowMs());
    this.#timer = this.options.clock.setTimer(Math.max(pauseMs, waitMs), () => this.#poll());
  }

  #poll(): void {
    const version = this.options.foreignVersion();
    if (version !== this.#foreign) {
      this.#foreign = version;
      this.lookAgain();
    } else {
      this.#pump();
    }
  }

  #toWaiting(
    row: { seq: number; endpoint: string; next_attempt_at: number },
  ): Waiting {
    return { seq: row.seq, endpoint: row.endpoint, dueMs: this.#dueMs(row.next_attempt_at) };
  }

  /** A date on the scale of the queues; one that is further away is from a clock that was wrong. */
  #dueMs(dateMs: number): number {
    const inMs = dateMs - this.#dateMs();
    return inMs > TRY_FOR_MS ? 0 : Math.max(0, this.#nowMs() + inMs);
  }

  /** On the scale of the queues, which no jump of the host's clock moves. */
  #nowMs(): number {
    return this.options.clock.monotonicMs();
  }

  #dateMs(): number {
    return (this.options.cautious ?? this.options.clock).now().getTime();
  }

  #random(): number {
    return (this.options.random ?? Math.random)();
  }
}

function triggerKey(partId: string, triggerName: string): string {
  return `${partId} ${triggerName}`;
}
