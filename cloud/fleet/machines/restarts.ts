import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** How far a machine is with a restart that somebody requested. */
interface Progress {
  readonly requestedAtMs: number;
  /** When it was first notified that it must restart, milliseconds since 1970, as tokens say it. */
  readonly firstToldMs: number;
  /** The same, and the last time, by `Clock.monotonicMs`: somebody may set the other clock. */
  readonly firstToldAt: number;
  lastToldAt: number;
  done: boolean;
}

/** What a node says of a restart to the others; clocks of hosts differ. */
interface ToldRestart {
  readonly id: string;
  readonly requestedAtMs: number;
  readonly firstToldAgoMs: number;
  readonly lastToldAgoMs: number;
  readonly done: boolean;
}

/** When the other nodes know that a machine was notified. */
const TELL_MS = 50;
/** Enough for a server to end and start: notified again sooner, an agent would stop the new one. */
const TELL_AGAIN_AFTER_MS = 30_000;
/** A machine that is not seen to start in this time was notified often enough. */
const GIVE_UP_AFTER_MS = 2 * 60_000;

/**
 * Restarts that somebody requested. An answer may be lost on its way, so a machine is notified
 * every
 * 30 seconds until its server was seen to start again, for 2 minutes at most.
 *
 * What identifies a start is the token a server calls with: a program requests one when it starts.
 */
export class Restarts {
  readonly #progress = new Map<string, Progress>();
  #shared: NodeBroadcast<ToldRestart> | undefined;

  constructor(
    private readonly queries: Queries,
    private readonly changes: ChangeFeed,
    private readonly clock: Clock,
  ) {}

  /** Shares it with the other nodes, until the result is disposed of. */
  share(nodes: Nodes, log: Logger): AsyncDisposable {
    this.#shared = new NodeBroadcast({
      topic: "restarts",
      all: () => [...this.#progress.keys()].flatMap((id) => this.#saidOf(id) ?? []),
      heard: (restarts) => {
        for (const restart of restarts) this.#heard(restart);
      },
      gone: () => undefined, // what it notified stays notified
      ...{ nodes, clock: this.clock, log },
    });
    return this.#shared;
  }

  async request(part: PartRow): Promise<void> {
    await this.queries.transaction().execute(async (transaction) => {
      const now = this.clock.now();
      await transaction.updateTable("parts").set({ restart_requested_at: now.getTime() })
        .where("id", "=", part.id).execute();
      await recordChange(
        transaction,
        { orgId: part.org_id, partId: part.id, kind: "restart" },
        now,
      );
    });
    this.#progress.delete(part.id);
    await this.changes.drain();
  }

  /** Whether to notify the machine now that its server must restart. */
  async mustRestart(part: PartRow): Promise<boolean> {
    if (part.restart_requested_at === null) return false;
    const now = this.clock.monotonicMs();
    const progress = this.#progressOf(part);
    if (!progress) {
      this.#progress.set(part.id, this.#told(part.restart_requested_at));
      this.#say(part.id);
      return true;
    }
    if (progress.done || now - progress.lastToldAt < TELL_AGAIN_AFTER_MS) return false;
    if (now - progress.firstToldAt >= GIVE_UP_AFTER_MS) {
      await this.#finish(part, progress);
      return false;
    }
    progress.lastToldAt = now;
    this.#say(part.id);
    return true;
  }

  /**
   * The part's server fetched its configuration. Servers of others may request a token at any
   * time, so this counts only when the machine was notified before.
   *
   * @param tokenMs when the token was issued that it called with, milliseconds since 1970.
   */
  async fetched(part: PartRow, tokenMs: number): Promise<void> {
    const progress = this.#progressOf(part);
    if (progress && tokenMs > progress.firstToldMs) await this.#finish(part, progress);
  }

  /**
   * The part's server opened its stream. Only ours does, and keeps its token while it runs: with
   * a newer one than the request it restarted, notified by the stream or for another reason.
   */
  async opened(part: PartRow, tokenMs: number): Promise<void> {
    const { restart_requested_at: requestedAtMs } = part;
    if (requestedAtMs === null || tokenMs <= requestedAtMs) return;
    await this.#finish(part, this.#progressOf(part) ?? this.#told(requestedAtMs));
  }

  #told(requestedAtMs: number): Progress {
    const at = this.clock.monotonicMs();
    const firstToldMs = this.clock.now().getTime();
    return { requestedAtMs, firstToldMs, firstToldAt: at, lastToldAt: at, done: false };
  }

  #say(partId: string): void {
    this.#shared?.send(partId, () => this.#saidOf(partId), TELL_MS);
  }

  #saidOf(id: string): ToldRestart | undefined {
    const progress = this.#progress.get(id);
    if (!progress) return undefined;
    const { requestedAtMs, firstToldAt, lastToldAt, done } = progress;
    const nowMs = this.clock.monotonicMs();
    const ago = { firstToldAgoMs: nowMs - firstToldAt, lastToldAgoMs: nowMs - lastToldAt };
    return { id, requestedAtMs, ...ago, done };
  }

  #heard({ id, requestedAtMs, firstToldAgoMs, lastToldAgoMs, done }: ToldRestart): void {
    const known = this.#progress.get(id);
    if (known && known.requestedAtMs > requestedAtMs) return;
    const own = known?.requestedAtMs === requestedAtMs ? known : undefined;
    const nowMs = this.clock.monotonicMs();
    this.#progress.set(id, {
      requestedAtMs,
      firstToldMs: own?.firstToldMs ?? this.clock.now().getTime() - firstToldAgoMs,
      firstToldAt: Math.min(own?.firstToldAt ?? Infinity, nowMs - firstToldAgoMs),
      lastToldAt: Math.max(own?.lastToldAt ?? -Infinity, nowMs - lastToldAgoMs),
      done: done || (own?.done ?? false),
    });
  }

  #progressOf(part: PartRow): Progress | undefined {
    const progress = this.#progress.get(part.id);
    return progress?.requestedAtMs === part.restart_requested_at ? progress : undefined;
  }

  /** Stays remembered: a call under way may have read the part before. */
  async #finish(part: PartRow, progress: Progress): Promise<void> {
    progress.done = true;
    this.#progress.set(part.id, progress);
    this.#say(part.id);
    await this.queries.updateTable("parts").set({ restart_requested_at: null })
      .where("id", "=", part.id).where("restart_requested_at", "=", progress.requestedAtMs)
      .execute();
  }
}
