import { Code, ConnectError } from "@connectrpc/connect";
import type { LogEntry } from "../gen/viam/common/v1/common_pb.ts";
import { Backoff } from "../base/time/backoff.ts";
import type { Clock } from "../base/time/clock.ts";
import { withDeadline } from "../base/time/deadline.ts";
import { retry } from "../base/time/retry.ts";
import type { Logger } from "./logger.ts";
import type { LogSpool } from "./spool.ts";

/** What a {@link LogUploader} works with. */
export interface UploaderOptions {
  spool: LogSpool;
  /** Hands entries to the cloud; resolves when the cloud has them. */
  send: (entries: LogEntry[], signal: AbortSignal) => Promise<void>;
  clock: Clock;
  log: Logger;
  /** Most entries of a batch. Default 500. */
  maxEntries?: number;
  /** Most bytes of a batch. Default 1 MiB. */
  maxBytes?: number;
  /**
   * After a send the next one waits so long unless a whole batch is there: each costs as much as
   * hundreds of lines. Default 0.
   */
  gapMs?: number;
  /** A send that takes longer has failed. Default 15 s. */
  sendTimeoutMs?: number;
  /** Waits between attempts. Default 1 s growing to 60 s, with jitter. */
  backoff?: Backoff;
}

const DEFAULT_MAX_ENTRIES = 500;
const DEFAULT_MAX_BYTES = 1024 * 1024;
const DEFAULT_SEND_TIMEOUT_MS = 15_000;
const DEFAULT_CLOSE_MS = 2_000;

/**
 * Sends the queue to the cloud, in order, each entry at least once. While the cloud is away it
 * tries again with backoff. A batch the cloud calls invalid is halved until the bad entry is
 * alone; that one is replaced by a notice, so it never blocks the others.
 */
export class LogUploader {
  readonly #options: UploaderOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #abandon = new AbortController();
  readonly #mostEntries: number;
  #batchEntries: number;
  #isOffline = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: UploaderOptions) {
    this.#options = options;
    this.#backoff = options.backoff ?? new Backoff({ minMs: 1_000, maxMs: 60_000 });
    this.#mostEntries = options.maxEntries ?? DEFAULT_MAX_ENTRIES;
    this.#batchEntries = this.#mostEntries;
  }

  /** Starts sending in the background. */
  start(): void {
    this.#running = this.#run(this.#stop.signal);
  }

  /**
   * Sends what is left, within the deadline and only if the cloud answers, and ends. What could
   * not be sent stays in the queue for the next start.
   *
   * @returns whether everything was sent.
   */
  async close({ deadlineMs = DEFAULT_CLOSE_MS } = {}): Promise<boolean> {
    const { spool, clock } = this.#options;
    spool.flush();
    this.#stop.abort(new DOMException("the log upload is stopped", "AbortError"));
    const deadline = clock.setTimer(deadlineMs, () => this.#abandon.abort());
    try {
      await this.#running;
      while (await this.#sendNext()) spool.flush();
    } catch {
      // Offline or too slow: the entries stay in the queue.
    } finally {
      deadline.cancel();
    }
    return spool.size.entries === 0;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { spool, clock, gapMs = 0 } = this.#options;
    const onRetry = (error: unknown) => this.#reportOffline(error);
    try {
      while (!signal.aborted) {
        await spool.waitForEntries(signal);
        await retry(() => this.#sendNext(), { clock, backoff: this.#backoff, signal, onRetry });
        if (spool.size.entries < this.#batchEntries) await clock.sleep(gapMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Sends one batch, or learns that it must be smaller; false when there is nothing to send.
   * Throws when the cloud is away.
   */
  async #sendNext(): Promise<boolean> {
    const { spool, clock, send, maxBytes = DEFAULT_MAX_BYTES } = this.#options;
    const batch = spool.take({ maxEntries: this.#batchEntries, maxBytes });
    if (!batch) return false;
    try {
      await withDeadline((signal) => send(batch.entries, signal), {
        clock,
        deadlineMs: this.#options.sendTimeoutMs ?? DEFAULT_SEND_TIMEOUT_MS,
        what: "sending logs",
        signal: this.#abandon.signal,
      });
    } catch (error) {
      if (!isInvalid(error)) {
        spool.release(batch);
        throw error;
      }
      this.#batchEntries = Math.ceil(batch.entries.length / 2);
      if (batch.entries.length > 1) spool.release(batch);
      else spool.refuse(batch);
      return true;
    }
    spool.acknowledge(batch);
    this.#batchEntries = Math.min(this.#mostEntries, this.#batchEntries * 2);
    this.#reportOnline();
    return true;
  }

  #reportOffline(error: unknown): void {
    if (this.#isOffline) return;
    this.#isOffline = true;
    this.#options.log.warn("cannot send logs to the cloud; they are queued", {
      event: "log_upload_offline",
      error,
    });
  }

  #reportOnline(): void {
    if (!this.#isOffline) return;
    this.#isOffline = false;
    this.#options.log.info("queued logs are being sent to the cloud again", {
      event: "log_upload_online",
    });
  }
}

function isInvalid(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.InvalidArgument;
}
