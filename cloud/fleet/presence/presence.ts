import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { ChangedParts } from "./changed_parts.ts";

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

/**
 * Who is online, and what programs report themselves of with each call: of every part, also those
 * with an agent of another make, or none. What our agent reports in full is `AgentStatuses` of
 * `cloud/releases`. Nodes that serve together notify each other of what changes.
 */
export class Presence {
  readonly #entries = new Map<string, Entry>();
  readonly #changed: ChangedParts;
  #shared: NodeBroadcast<ToldPart> | undefined;

  constructor(
    private readonly queries: Queries,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** How long after its last call a part that keeps no stream open is offline. */
    readonly offlineAfterMs = OFFLINE_AFTER_MS,
  ) {
    this.#changed = new ChangedParts({
      ...{ queries, clock, log },
      failure: "cannot write who is online; retrying",
      always: () => this.#streaming(),
      save: (partIds) => this.#save(partIds),
      forget: (partId) => this.#entries.delete(partId),
    });
  }

  /** Reads what was known when the last run ended. */
  async load(): Promise<void> {
    const rows = await this.queries.selectFrom("part_presence").selectAll().execute();
    for (const row of rows) {
      this.#entries.set(row.part_id, {
        lastAccessMs: row.last_access ?? undefined,
        seenMs: undefined,
        openStreams: 0,
        facts: parseFacts(row.facts),
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
    this.#changed.add(partId);
    this.#tell(partId, isNews ? TELL_MS : TELL_SEEN_MS);
  }

  /** Something else of the part, such as its agent, reported of itself. */
  learned(partId: string, facts: PartFacts): void {
    const entry = this.#entry(partId);
    const isNews = isNew(facts, entry.facts);
    this.#learn(entry, facts);
    this.#changed.add(partId);
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
    return this.#streaming().length;
  }

  /** Writes to the database now and then until the signal aborts, and once more then. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#changed.run(signal);
  }

  /** Writes what changed since the last time. */
  async write(): Promise<void> {
    await this.#changed.write();
  }

  async #save(partIds: readonly string[]): Promise<void> {
    const nowMs = this.clock.now().getTime();
    const values = partIds.map((id) => {
      const entry = this.#entry(id);
      if (entry.openStreams > 0) entry.lastAccessMs = nowMs;
      const { lastAccessMs = null, facts } = entry;
      return { part_id: id, last_access: lastAccessMs, facts: JSON.stringify(facts) };
    });
    await this.queries.insertInto("part_presence").values(values)
      .onConflict((conflict) =>
        conflict.column("part_id").doUpdateSet((eb) => ({
          last_access: eb.ref("excluded.last_access"),
          facts: eb.ref("excluded.facts"),
        }))
      ).execute();
  }

  /** Parts with a stream on this node. */
  #streaming(): string[] {
    return [...this.#entries].flatMap(([id, { openStreams }]) => openStreams > 0 ? [id] : []);
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
