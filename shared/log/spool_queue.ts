import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Timestamp, timestampNow } from "@bufbuild/protobuf/wkt";
import { LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import type { Database } from "../base/store/sqlite.ts";
import { severity } from "./level.ts";

/** How much may be in the queue, or in a batch. */
export interface Bounds {
  maxEntries: number;
  maxBytes: number;
}

/** An entry on its way into the queue. */
export interface PendingEntry {
  severity: number;
  /** The encoded message. */
  bytes: Uint8Array;
}

/** An entry in the queue. */
export interface StoredEntry {
  id: number;
  bytes: number;
  entry: Uint8Array;
}

/** Why entries are missing. */
export type NoticeReason = "full" | "refused" | "damaged";

const NOTICE_TEXT: Readonly<Record<NoticeReason, string>> = {
  full: "dropped here: the log queue was full",
  refused: "dropped here: refused by the cloud",
  damaged: "dropped here: unreadable in the log queue",
};

interface Victim {
  id: number;
  bytes: number;
  entry: Uint8Array;
}

/** The table of a {@link LogSpool}: every method is one transaction. */
export class SpoolQueue {
  readonly #db: Database;
  readonly #bounds: Bounds;
  readonly #notices: { host: string; loggerName: string };
  #entries = 0;
  #bytes = 0;
  /** Rows up to this one are being sent: they are neither dropped nor counted up. */
  #heldUpTo = 0;

  constructor(db: Database, bounds: Bounds, notices: { host: string; loggerName: string }) {
    this.#db = db;
    this.#bounds = bounds;
    this.#notices = notices;
    this.#count();
  }

  get size(): { entries: number; bytes: number } {
    return { entries: this.#entries, bytes: this.#bytes };
  }

  /**
   * Adds entries, after a notice for `lost` ones that came before them.
   *
   * @param marks values by name; null takes one away
   */
  append(
    entries: readonly PendingEntry[],
    lost: number,
    marks: ReadonlyMap<string, string | null> = new Map(),
  ): void {
    this.#change(() => {
      for (const [name, value] of marks) this.#setMark(name, value);
      if (lost > 0) this.#addNotice("full", lost, undefined, timestampNow());
      const insert = this.#db.prepare<[number, number, Uint8Array]>(
        "INSERT INTO log_queue (severity, bytes, entry) VALUES (?, ?, ?)",
      );
      for (const { severity, bytes } of entries) {
        insert.run(severity, bytes.byteLength, bytes);
        this.#entries++;
        this.#bytes += bytes.byteLength;
      }
      this.#makeRoom();
    });
  }

  mark(name: string): string | undefined {
    return this.#db.prepare<[string], { value: string }>(
      "SELECT value FROM log_mark WHERE name = ?",
    ).get(name)?.value;
  }

  #setMark(name: string, value: string | null): void {
    if (value === null) this.#db.prepare("DELETE FROM log_mark WHERE name = ?").run(name);
    else {
      this.#db.prepare("INSERT OR REPLACE INTO log_mark (name, value) VALUES (?, ?)")
        .run(name, value);
    }
  }

  /** The first entries within the limits, at least one if there is any. */
  head({ maxEntries, maxBytes }: Bounds): StoredEntry[] {
    const rows: StoredEntry[] = [];
    let bytes = 0;
    const select = this.#db.prepare<[number], StoredEntry>(
      "SELECT id, bytes, entry FROM log_queue ORDER BY id LIMIT ?",
    );
    for (const row of select.iterate(maxEntries)) {
      bytes += row.bytes;
      if (rows.length > 0 && bytes > maxBytes) break;
      rows.push(row);
    }
    return rows;
  }

  /** Keeps the rows up to this one as they are; 0 holds nothing. */
  hold(lastId: number): void {
    this.#heldUpTo = lastId;
  }

  remove(firstId: number, lastId: number): void {
    this.#change(() => {
      const rows = this.#db.prepare<[number, number], { bytes: number }>(
        "DELETE FROM log_queue WHERE id BETWEEN ? AND ? RETURNING bytes",
      ).all(firstId, lastId);
      this.#entries -= rows.length;
      this.#bytes -= rows.reduce((sum, row) => sum + row.bytes, 0);
    });
  }

  /** Puts a notice in the place of one entry; a notice itself just goes. */
  replaceByNotice(id: number, reason: NoticeReason): void {
    this.#change(() => {
      const row = this.#db.prepare<[number], Victim & { notice: string | null }>(
        "DELETE FROM log_queue WHERE id = ? RETURNING id, bytes, entry, notice",
      ).get(id);
      if (!row) return;
      this.#entries--;
      this.#bytes -= row.bytes;
      if (row.notice === null) this.#addNotice(reason, 1, id, timeOf(row.entry));
    });
  }

  #makeRoom(): void {
    const { maxEntries, maxBytes } = this.#bounds;
    if (this.#entries <= maxEntries && this.#bytes <= maxBytes) return;
    // A little more than needed, so that a full queue need not do it for every entry.
    const entries = maxEntries - Math.floor(maxEntries / 400) - 1;
    const bytes = maxBytes - Math.floor(maxBytes / 400);
    const remove = this.#db.prepare<[number]>("DELETE FROM log_queue WHERE id = ?");
    const leastWorth = this.#db.prepare<[number], Victim>(
      `SELECT id, bytes, entry FROM log_queue WHERE id > ? AND notice IS NULL
       ORDER BY severity, id LIMIT 100`,
    );
    let first: Victim | undefined;
    let dropped = 0;
    while (this.#entries > entries || this.#bytes > bytes) {
      const victims = leastWorth.all(this.#heldUpTo);
      if (victims.length === 0) break;
      for (const victim of victims) {
        if (this.#entries <= entries && this.#bytes <= bytes) break;
        remove.run(victim.id);
        this.#entries--;
        this.#bytes -= victim.bytes;
        dropped++;
        if (!first || victim.id < first.id) first = victim;
      }
    }
    if (first) this.#addNotice("full", dropped, first.id, timeOf(first.entry));
  }

  /** Counts up the notice that is there, or puts one at `id` (at the end without one). */
  #addNotice(reason: NoticeReason, count: number, id: number | undefined, time: Timestamp): void {
    const old = this.#db.prepare<[string, number], Victim & { count: number }>(
      "SELECT id, bytes, entry, count FROM log_queue WHERE notice = ? AND id > ? LIMIT 1",
    ).get(reason, this.#heldUpTo);
    const total = count + (old?.count ?? 0);
    const entry = this.#noticeEntry(reason, total, old ? timeOf(old.entry) : time);
    this.#entries += old ? 0 : 1;
    this.#bytes += entry.byteLength - (old?.bytes ?? 0);
    this.#db.prepare(
      `INSERT OR REPLACE INTO log_queue (id, severity, bytes, entry, notice, count)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ).run(old?.id ?? id ?? null, severity("warn"), entry.byteLength, entry, reason, total);
  }

  #noticeEntry(reason: NoticeReason, count: number, time: Timestamp): Uint8Array {
    const entries = count === 1 ? "1 log entry was" : `${count} log entries were`;
    const message = `${entries} ${NOTICE_TEXT[reason]}`;
    return toBinary(
      LogEntrySchema,
      create(LogEntrySchema, { ...this.#notices, level: "warn", time, message }),
    );
  }

  /** A transaction that leaves the counts right when it fails. */
  #change(work: () => void): void {
    try {
      this.#db.transaction(work).immediate();
    } catch (error) {
      this.#count();
      throw error;
    }
  }

  #count(): void {
    const row = this.#db.prepare<[], { entries: number; bytes: number }>(
      "SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes FROM log_queue",
    ).get();
    this.#entries = row?.entries ?? 0;
    this.#bytes = row?.bytes ?? 0;
  }
}

function timeOf(entry: Uint8Array): Timestamp {
  try {
    return fromBinary(LogEntrySchema, entry).time ?? timestampNow();
  } catch {
    return timestampNow();
  }
}
