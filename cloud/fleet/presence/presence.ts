import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

/** What a part's programs report themselves. */
export interface PartFacts {
  readonly serverVersion?: string;
  readonly agentVersion?: string;
  readonly host?: string;
  readonly os?: string;
  readonly platform?: string;
  readonly ips?: readonly string[];
}

/** How a part stands. */
export interface PartPresence {
  /** `awaiting-setup`: its server has never called. */
  readonly state: "online" | "offline" | "awaiting-setup";
  readonly lastAccess: Date | undefined;
  readonly facts: PartFacts;
}

/** What is known of a part's server, by a clock that nobody sets. */
export interface PartSign {
  readonly partId: string;
  /** It has a stream open now. */
  readonly isStreaming: boolean;
  /** When it called last, by `Clock.monotonicMs`; undefined: in an earlier run of the cloud. */
  readonly seenMs: number | undefined;
}

interface Entry {
  lastAccessMs: number | undefined;
  /** By `Clock.monotonicMs`; undefined: in an earlier run. */
  seenMs: number | undefined;
  openStreams: number;
  facts: PartFacts;
  dirty: boolean;
}

/** A part that keeps no stream open is offline after this time without a call, by default. */
export const OFFLINE_AFTER_MS = 60_000;
const WRITE_EVERY_MS = 30_000;
const WRITE_SLICE = 200;

/**
 * Who is online. Kept in memory, because every poll of every machine changes it; written to the
 * database every 30 seconds and at the end.
 */
export class Presence {
  readonly #entries = new Map<string, Entry>();

  constructor(
    private readonly queries: Queries,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** How long after its last call a part that keeps no stream open is offline. */
    readonly offlineAfterMs = OFFLINE_AFTER_MS,
  ) {}

  /** Reads what was known when the last run ended. */
  async load(): Promise<void> {
    const rows = await this.queries.selectFrom("part_presence").selectAll().execute();
    for (const row of rows) {
      this.#entries.set(row.part_id, {
        lastAccessMs: row.last_access ?? undefined,
        seenMs: undefined,
        openStreams: 0,
        facts: parseFacts(row.facts),
        dirty: false,
      });
    }
  }

  /** The part's server has called. */
  seen(partId: string, facts: PartFacts = {}): void {
    const entry = this.#entry(partId);
    entry.lastAccessMs = this.clock.now().getTime();
    entry.seenMs = this.clock.monotonicMs();
    this.#learn(entry, facts);
  }

  /** Something else of the part, such as its agent, reported of itself. */
  learned(partId: string, facts: PartFacts): void {
    this.#learn(this.#entry(partId), facts);
  }

  /** The part is online until the returned function is called. */
  opened(partId: string): () => void {
    this.seen(partId);
    this.#entry(partId).openStreams++;
    let closed = false;
    return () => {
      if (closed) return;
      closed = true;
      const entry = this.#entry(partId);
      entry.openStreams--;
      this.seen(partId);
    };
  }

  of(partId: string): PartPresence {
    const entry = this.#entries.get(partId);
    if (entry?.lastAccessMs === undefined) {
      return { state: "awaiting-setup", lastAccess: undefined, facts: entry?.facts ?? {} };
    }
    const nowMs = this.clock.now().getTime();
    const agoMs = entry.openStreams > 0 ? 0 : this.#agoMs(entry, nowMs);
    return {
      state: Math.abs(agoMs) < this.offlineAfterMs ? "online" : "offline",
      lastAccess: new Date(nowMs - agoMs),
      facts: entry.facts,
    };
  }

  /** What is known of every part whose server has ever called. */
  *signs(): Iterable<PartSign> {
    for (const [partId, { lastAccessMs, openStreams, seenMs }] of this.#entries) {
      if (lastAccessMs !== undefined) yield { partId, isStreaming: openStreams > 0, seenMs };
    }
  }

  /** Writes to the database now and then until the signal aborts, and once more then. */
  async run(signal: AbortSignal): Promise<void> {
    const intervalMs = WRITE_EVERY_MS;
    const write = () =>
      this.write().catch((error) =>
        this.log.error("cannot write who is online; retrying", { error: String(error) })
      );
    await pollLoop(write, { clock: this.clock, intervalMs, firstMs: intervalMs }, signal);
    await write();
  }

  /** Writes what changed since the last time. */
  async write(): Promise<void> {
    const nowMs = this.clock.now().getTime();
    const dirty = [...this.#entries].filter(([, entry]) => entry.dirty || entry.openStreams > 0);
    for (let at = 0; at < dirty.length; at += WRITE_SLICE) {
      const slice = dirty.slice(at, at + WRITE_SLICE);
      for (const [, entry] of slice) {
        if (entry.openStreams > 0) entry.lastAccessMs = nowMs;
        entry.dirty = false;
      }
      try {
        await this.#writeSlice(slice);
      } catch (error) {
        for (const [, entry] of slice) entry.dirty = true;
        throw error;
      }
    }
  }

  async #writeSlice(slice: readonly (readonly [string, Entry])[]): Promise<void> {
    // A part may have been deleted meanwhile; its row would be refused.
    const existing = await this.queries.selectFrom("parts").select("id")
      .where("id", "in", slice.map(([id]) => id)).execute();
    const ids = new Set(existing.map((row) => row.id));
    const values = slice.filter(([id]) => ids.has(id)).map(([id, entry]) => ({
      part_id: id,
      last_access: entry.lastAccessMs ?? null,
      facts: JSON.stringify(entry.facts),
    }));
    for (const [id] of slice) if (!ids.has(id)) this.#entries.delete(id);
    if (values.length === 0) return;
    await this.queries.insertInto("part_presence").values(values)
      .onConflict((conflict) =>
        conflict.column("part_id").doUpdateSet((eb) => ({
          last_access: eb.ref("excluded.last_access"),
          facts: eb.ref("excluded.facts"),
        }))
      ).execute();
  }

  /** By the clock that nobody sets, where the part has called in this run. */
  #agoMs({ seenMs, lastAccessMs }: Entry, nowMs: number): number {
    return seenMs === undefined ? nowMs - (lastAccessMs ?? 0) : this.clock.monotonicMs() - seenMs;
  }

  #entry(partId: string): Entry {
    const known = this.#entries.get(partId);
    if (known) return known;
    const entry: Entry = {
      lastAccessMs: undefined,
      seenMs: undefined,
      openStreams: 0,
      facts: {},
      dirty: false,
    };
    this.#entries.set(partId, entry);
    return entry;
  }

  #learn(entry: Entry, facts: PartFacts): void {
    entry.facts = { ...entry.facts, ...facts };
    entry.dirty = true;
  }
}

function parseFacts(text: string): PartFacts {
  return JSON.parse(text) as PartFacts;
}
