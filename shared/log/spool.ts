import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { type LogEntry, LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import { meansFullDisk, openAlsoWhenFull } from "../base/store/full_disk.ts";
import { closeSqlite, type Database, openSqlite, StoreError } from "../base/store/sqlite.ts";
import { type Clock, systemClock, type Timer } from "../base/time/clock.ts";
import { parseLevel, severity } from "./level.ts";
import type { Level } from "./logger.ts";
import { decodeEntries, encodeEntries } from "./entry_codec.ts";
import { type Bounds, type PendingEntry, SpoolQueue } from "./spool_queue.ts";
import { spoolMigrations } from "./spool_schema.ts";

/** How {@link LogSpool.open} opens the queue. */
export interface SpoolOptions {
  /** Host name in the notices. */
  host: string;
  /** Logger name in the notices. Default "log_queue". */
  loggerName?: string;
  /** Most entries kept. Default 20,000. */
  maxEntries?: number;
  /** Most bytes of entries kept. Default 16 MiB. */
  maxBytes?: number;
  /** Entries are committed together after this time. Default 200 ms. */
  flushMs?: number;
  clock?: Clock;
  /** Notified once when the queue cannot be written, and again after it could be. */
  onProblem?: (error: unknown) => void;
}

/** Entries at the head of the queue, in order. */
export interface LogBatch {
  entries: LogEntry[];
  firstId: number;
  lastId: number;
}

const DEFAULT_MAX_ENTRIES = 20_000;
const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const DEFAULT_FLUSH_MS = 200;
// A commit of that many takes a fifth of a millisecond, in which nothing else runs.
const COMMIT_ENTRIES = 50;
// More than a commit waits in memory only while the disk takes nothing.
const MOST_PENDING = 1_000;

/**
 * A queue of log entries in a SQLite file of its own, for the time without a cloud. It has its
 * own file because logs are many and lose little in a power cut (`synchronous=NORMAL`), while
 * the configuration next to it must be kept at any price (`FULL`), and so that a damaged queue
 * harms nothing else.
 *
 * When a bound is reached the least severe entries go first, the oldest of them first, and a
 * notice with their number stands in their place. Entries survive `kill -9` except those of the
 * last flush interval; an entry of level error is committed at once.
 */
export class LogSpool {
  readonly #db: Database;
  readonly #queue: SpoolQueue;
  readonly #notices: { host: string; loggerName: string };
  readonly #clock: Clock;
  readonly #flushMs: number;
  readonly #onProblem: (error: unknown) => void;
  readonly #waiting = new Set<() => void>();
  #pending: PendingEntry[] = [];
  #pendingBytes = 0;
  /** Null takes a mark away. */
  #pendingMarks = new Map<string, string | null>();
  readonly #maxPendingBytes: number;
  readonly #bounds: Bounds;
  #lost = 0;
  #isFailing = false;
  #timer: Timer | undefined;

  private constructor(db: Database, options: SpoolOptions) {
    this.#db = db;
    const bounds: Bounds = {
      maxEntries: options.maxEntries ?? DEFAULT_MAX_ENTRIES,
      maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES,
    };
    this.#bounds = bounds;
    this.#notices = { host: options.host, loggerName: options.loggerName ?? "log_queue" };
    this.#queue = new SpoolQueue(db, bounds, this.#notices);
    this.#clock = options.clock ?? systemClock;
    this.#flushMs = options.flushMs ?? DEFAULT_FLUSH_MS;
    this.#onProblem = options.onProblem ?? (() => {});
    this.#maxPendingBytes = Math.min(bounds.maxBytes, 1024 * 1024);
  }

  /**
   * Opens or creates the queue (`:memory:` for tests). A damaged one, as a power cut on a bad disk
   * can leave it, is put aside as `PATH.damaged`, and a new one reports it: a queue of log lines
   * is no reason for a machine not to start. The same holds for one of a newer version, which an
   * update that was taken back has left.
   *
   * @throws {StoreError} when there can be no queue, since the folder cannot be written for
   * example.
   */
  static open(path: string, options: SpoolOptions): LogSpool {
    try {
      return new LogSpool(openQueue(path), options);
    } catch (error) {
      if (!isUnusable(error)) throw error;
      putAside(path);
      const spool = new LogSpool(openQueue(path), options);
      spool.#tellDamage(error);
      return spool;
    }
  }

  /** Entries and bytes waiting, those not yet committed included. */
  get size(): { entries: number; bytes: number } {
    const { entries, bytes } = this.#queue.size;
    return { entries: entries + this.#pending.length, bytes: bytes + this.#pendingBytes };
  }

  /** How full the queue is: 0 empty, 1 at one of its bounds. */
  get fill(): number {
    const { entries, bytes } = this.size;
    return Math.max(entries / this.#bounds.maxEntries, bytes / this.#bounds.maxBytes);
  }

  /** Puts an entry at the end; does nothing after {@link close}. */
  append(entry: LogEntry): void {
    this.appendEncoded(toBinary(LogEntrySchema, entry), parseLevel(entry.level) ?? "info");
  }

  /** The same for some at once, which are committed together, in half the time. */
  appendAll(entries: readonly LogEntry[]): void {
    if (!this.#db.open) return;
    const encoded = encodeEntries(entries);
    let worst: Level = "debug";
    for (const [index, bytes] of encoded.entries()) {
      const level = parseLevel(entries[index]?.level ?? "") ?? "info";
      if (severity(level) > severity(worst)) worst = level;
      this.#push(bytes, level);
    }
    this.#flushIfDue(worst);
  }

  /** As {@link append} for an entry that is encoded already. */
  appendEncoded(bytes: Uint8Array, level: Level): void {
    if (!this.#db.open) return;
    this.#push(bytes, level);
    this.#flushIfDue(level);
  }

  #push(bytes: Uint8Array, level: Level): void {
    this.#pending.push({ severity: severity(level), bytes });
    this.#pendingBytes += bytes.byteLength;
  }

  /** @param level the most severe of what was put there. */
  #flushIfDue(level: Level): void {
    const most = this.#isFailing ? MOST_PENDING : COMMIT_ENTRIES;
    const isUrgent = level === "error" && !this.#isFailing;
    const isFull = this.#pending.length > most || this.#pendingBytes > this.#maxPendingBytes;
    if (isUrgent || isFull) return this.flush();
    this.#timer ??= this.#clock.setTimer(this.#flushMs, () => this.flush());
  }

  /**
   * Notes how far somebody has read what is put into this queue. It is committed with the entries
   * appended before it, so that after any end both are there or neither is.
   *
   * @param value undefined takes the mark away
   */
  setMark(name: string, value: string | undefined): void {
    if (!this.#db.open) return;
    this.#pendingMarks.set(name, value ?? null);
    this.#timer ??= this.#clock.setTimer(this.#flushMs, () => this.flush());
  }

  /** The mark that was set last, in this run or an earlier one. */
  mark(name: string): string | undefined {
    const pending = this.#pendingMarks.get(name);
    return pending === undefined ? this.#queue.mark(name) : pending ?? undefined;
  }

  /** Whether the disk took nothing when it was tried last. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Commits what was appended. A disk that takes nothing is tried again later. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#pending.length === 0 && this.#lost === 0 && this.#pendingMarks.size === 0) return;
    try {
      this.#queue.append(this.#pending, this.#lost, this.#pendingMarks);
    } catch (error) {
      return this.#keepPending(error);
    }
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#pendingMarks.clear();
    this.#lost = 0;
    this.#isFailing = false;
    for (const wake of this.#waiting) wake();
  }

  /** Resolves when there is a committed entry; rejects with the signal's reason. */
  waitForEntries(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#queue.size.entries > 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = () => settle(() => reject(signal?.reason));
      const wake = () => settle(resolve);
      const settle = (then: () => void) => {
        this.#waiting.delete(wake);
        signal?.removeEventListener("abort", onAbort);
        then();
      };
      this.#waiting.add(wake);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /**
   * The first entries, at most so many and so many bytes, but at least one; undefined when the
   * queue is empty. They stay in the queue, and are not dropped, until {@link acknowledge},
   * {@link release} or {@link refuse}. One batch can be out at a time.
   */
  take(limits: Bounds): LogBatch | undefined {
    for (;;) {
      const rows = this.#queue.head(limits);
      const entries = decodeEntries(rows.map((row) => row.entry));
      const decoded = rows.map(({ id }, index) => ({ id, entry: entries[index] }));
      const damaged = decoded.filter(({ entry }) => !entry);
      for (const { id } of damaged) this.#queue.replaceByNotice(id, "damaged");
      if (damaged.length > 0) continue;
      const firstId = rows.at(0)?.id;
      const lastId = rows.at(-1)?.id;
      if (firstId === undefined || lastId === undefined) return undefined;
      this.#queue.hold(lastId);
      return { entries: decoded.flatMap(({ entry }) => entry ?? []), firstId, lastId };
    }
  }

  /** The batch was received: removes it. */
  acknowledge(batch: LogBatch): void {
    this.#queue.remove(batch.firstId, batch.lastId);
    this.#queue.hold(0);
  }

  /** The batch could not be sent; it stays at the head. */
  release(_batch: LogBatch): void {
    this.#queue.hold(0);
  }

  /** The receiver will never take this batch of one: a notice takes the entry's place. */
  refuse(batch: LogBatch): void {
    this.#queue.hold(0);
    this.#queue.replaceByNotice(batch.firstId, "refused");
  }

  /** Commits and closes the file. */
  close(): void {
    this.flush();
    this.#timer?.cancel();
    closeSqlite(this.#db);
  }

  #tellDamage(error: StoreError): void {
    const what = error.code === "newer-schema" ? "is of a newer version" : "was damaged";
    const message = `the queue of log lines ${what}; it is put aside and a new one begun`;
    const { host, loggerName } = this.#notices;
    this.append(create(LogEntrySchema, {
      host,
      loggerName,
      level: "error",
      time: timestampNow(),
      message,
    }));
    this.#onProblem(new Error(message, { cause: error }));
  }

  #keepPending(error: unknown): void {
    const isKnown = this.#isFailing;
    this.#isFailing = true;
    // To report it is to log a line, which comes here.
    if (!isKnown) this.#onProblem(error);
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(Math.max(1_000, this.#flushMs), () => this.flush());
    if (this.#pending.length <= MOST_PENDING && this.#pendingBytes <= this.#maxPendingBytes) return;
    const kept = keepSevereAndNew(this.#pending, MOST_PENDING / 2, this.#maxPendingBytes / 2);
    this.#lost += this.#pending.length - kept.length;
    this.#pending = kept;
    this.#pendingBytes = kept.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  }
}

/** The most severe entries, the newest of them first, up to both bounds, in the old order. */
function keepSevereAndNew(
  pending: readonly PendingEntry[],
  maxEntries: number,
  maxBytes: number,
): PendingEntry[] {
  const byWorth = pending.map((entry, index) => ({ entry, index }))
    .toSorted((a, b) => b.entry.severity - a.entry.severity || b.index - a.index);
  let bytes = 0;
  const kept = byWorth.slice(0, maxEntries).filter(({ entry }) => {
    bytes += entry.bytes.byteLength;
    return bytes <= maxBytes;
  });
  return kept.toSorted((a, b) => a.index - b.index).map(({ entry }) => entry);
}

function openQueue(path: string): Database {
  const db = openFile(path);
  // A queue needs no cache of pages. A checkpoint waits for the disk, some 10 ms, whatever the size
  // of the WAL: one every 4 MiB comes seldom enough, also in a flood.
  db.pragma("cache_size = -512");
  db.pragma("wal_autocheckpoint = 1000");
  return db;
}

/** In memory where a full disk has no room even for an empty queue. */
function openFile(path: string): Database {
  const options = {
    name: "log queue",
    migrations: spoolMigrations,
    synchronous: "NORMAL",
  } as const;
  try {
    return openAlsoWhenFull(path, options, () => {});
  } catch (error) {
    if (!meansFullDisk(error) || !existsSync(dirname(path))) throw error;
    return openSqlite(":memory:", options);
  }
}

function isUnusable(error: unknown): error is StoreError {
  return error instanceof StoreError &&
    ["corrupt", "not-a-database", "newer-schema"].includes(error.code);
}

/** Keeps the file, in the place of an older one; its journal is worth nothing alone. */
function putAside(path: string): void {
  renameSync(path, `${path}.damaged`);
  for (const suffix of ["-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
}
