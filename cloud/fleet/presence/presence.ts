import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import type { Nodes } from "../../nodes/nodes.ts";
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
  /** It has a stream open now, on whichever node. */
  readonly isStreaming: boolean;
  /** When it called last, by `Clock.monotonicMs`; undefined: in an earlier run of the cloud. */
  readonly seenMs: number | undefined;
}

interface Entry {
  lastAccessMs: number | undefined;
  /** By `Clock.monotonicMs`; undefined: in an earlier run. */
  seenMs: number | undefined;
  /** On this node. */
  openStreams: number;
  /** Other nodes on which it has one; undefined: none. */
  elsewhere?: Set<string>;
  facts: PartFacts;
  dirty: boolean;
}

/** What a node says of a part to the others. */
interface ToldPart {
  readonly id: string;
  readonly isStreaming: boolean;
  /** How long ago it has called; left out: not in this run. */
  readonly seenAgoMs?: number;
  readonly facts: PartFacts;
}

/** When the other nodes know that a part came or went, and that one without a stream has called. */
const TELL_MS = 100;
const TELL_SEEN_MS = 5_000;

/** A part that keeps no stream open is offline after this time without a call, by default. */
const OFFLINE_AFTER_MS = 60_000;
const WRITE_EVERY_MS = 30_000;
const WRITE_SLICE = 200;

/**
 * Who is online. Kept in memory, because every poll of every machine changes it; written to the
 * database every 30 seconds and at the end. Nodes that serve together tell each other what changes.
 */
export class Presence {
  readonly #entries = new Map<string, Entry>();
  #shared: NodeBroadcast<ToldPart> | undefined;

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

  /** Shares it with the other nodes, until the result is disposed of. */
  share(nodes: Nodes): AsyncDisposable {
    this.#shared = new NodeBroadcast({
      topic: "presence",
      all: () => this.#allTold(),
      heard: (parts, from) => {
        for (const part of parts) this.#heard(part, from);
      },
      gone: (node) => this.#gone(node),
      ...{ nodes, clock: this.clock, log: this.log },
    });
    return this.#shared;
  }

  /** The part's server has called. */
  seen(partId: string, facts: PartFacts = {}): void {
    const entry = this.#entry(partId);
    const isNews = isNew(facts, entry.facts);
    this.#see(entry);
    this.#learn(entry, facts);
    entry.dirty = true;
    this.#tell(partId, isNews ? TELL_MS : TELL_SEEN_MS);
  }

  /** Something else of the part, such as its agent, reported of itself. */
  learned(partId: string, facts: PartFacts): void {
    const entry = this.#entry(partId);
    const isNews = isNew(facts, entry.facts);
    this.#learn(entry, facts);
    entry.dirty = true;
    if (isNews) this.#tell(partId, TELL_MS);
  }

  /** The part is online until the returned function is called. */
  opened(partId: string): () => void {
    this.seen(partId);
    this.#entry(partId).openStreams++;
    this.#tell(partId, TELL_MS);
    let closed = false;
    return () => {
      if (closed) return;
      closed = true;
      const entry = this.#entry(partId);
      entry.openStreams--;
      this.seen(partId);
      this.#tell(partId, TELL_MS);
    };
  }

  of(partId: string): PartPresence {
    const entry = this.#entries.get(partId);
    if (entry?.lastAccessMs === undefined) {
      return { state: "awaiting-setup", lastAccess: undefined, facts: entry?.facts ?? {} };
    }
    const nowMs = this.clock.now().getTime();
    const agoMs = isStreaming(entry) ? 0 : this.#agoMs(entry, nowMs);
    return {
      state: Math.abs(agoMs) < this.offlineAfterMs ? "online" : "offline",
      lastAccess: new Date(nowMs - agoMs),
      facts: entry.facts,
    };
  }

  /** What is known of every part whose server has ever called. */
  *signs(): Iterable<PartSign> {
    for (const [partId, entry] of this.#entries) {
      const { lastAccessMs, seenMs } = entry;
      if (lastAccessMs !== undefined) yield { partId, isStreaming: isStreaming(entry), seenMs };
    }
  }

  /** How many parts have a stream open on this node. */
  get connected(): number {
    return [...this.#entries.values()].filter(({ openStreams }) => openStreams > 0).length;
  }

  /** Writes to the database now and then until the signal aborts, and once more then. */
  async run(signal: AbortSignal): Promise<void> {
    const intervalMs = WRITE_EVERY_MS;
    const write = () =>
      this.write().catch((error) =>
        this.log.error("cannot write who is online; retrying", {
          event: "presence_not_written",
          error: String(error),
        })
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
  }

  #see(entry: Entry): void {
    entry.lastAccessMs = this.clock.now().getTime();
    entry.seenMs = this.clock.monotonicMs();
  }

  #tell(partId: string, withinMs: number): void {
    this.#shared?.send(partId, () => this.#told(partId), withinMs);
  }

  #told(id: string): ToldPart {
    const { openStreams, facts, seenMs } = this.#entry(id);
    const seen = seenMs === undefined ? {} : { seenAgoMs: this.clock.monotonicMs() - seenMs };
    return { id, isStreaming: openStreams > 0, ...seen, facts };
  }

  /** Who was here within the time that counts. */
  *#allTold(): Iterable<ToldPart> {
    const nowMs = this.clock.monotonicMs();
    for (const [id, { openStreams, seenMs = -Infinity }] of this.#entries) {
      if (openStreams > 0 || nowMs - seenMs < this.offlineAfterMs) yield this.#told(id);
    }
  }

  /** Clocks of hosts differ: what counts is how long ago something was. */
  #heard({ id, isStreaming, seenAgoMs, facts }: ToldPart, from: string): void {
    const entry = this.#entry(id);
    if (seenAgoMs !== undefined) {
      const seenMs = this.clock.monotonicMs() - seenAgoMs;
      const lastAccessMs = this.clock.now().getTime() - seenAgoMs;
      entry.seenMs = Math.max(entry.seenMs ?? -Infinity, seenMs);
      entry.lastAccessMs = Math.max(entry.lastAccessMs ?? 0, lastAccessMs);
    }
    this.#learn(entry, facts);
    if (isStreaming) (entry.elsewhere ??= new Set()).add(from);
    else leave(entry, from);
  }

  /** Its parts connect to other nodes; until then each was seen at this moment. */
  #gone(node: string): void {
    for (const entry of this.#entries.values()) {
      if (!entry.elsewhere?.has(node)) continue;
      leave(entry, node);
      this.#see(entry);
    }
  }
}

function isStreaming({ openStreams, elsewhere }: Entry): boolean {
  return openStreams > 0 || elsewhere !== undefined;
}

function leave(entry: Entry, node: string): void {
  entry.elsewhere?.delete(node);
  if (entry.elsewhere?.size === 0) delete entry.elsewhere;
}

/** Whether something was reported that was not known. */
function isNew(facts: PartFacts, known: PartFacts): boolean {
  return Object.entries(facts).some(([name, value]) =>
    JSON.stringify(known[name as keyof PartFacts]) !== JSON.stringify(value)
  );
}

function parseFacts(text: string): PartFacts {
  return JSON.parse(text) as PartFacts;
}
