import type { Clock, Timer } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { pollLoop } from "../../shared/workers/poll_loop.ts";
import type { NodeDescription, NodeStore, NotedNode } from "../storage/database/node_store.ts";
import { Terms } from "./leadership.ts";
import type { NodeChange, Nodes } from "./nodes.ts";
import type { SharedClock } from "./shared_clock.ts";
import { SharedBus } from "./shared_bus.ts";

export interface SharedNodesOptions {
  readonly store: NodeStore;
  readonly self: NodeDescription;
  readonly clock: Clock;
  /** Shows the time of the database from then on. */
  readonly time?: SharedClock | undefined;
  readonly log: Logger;
}

const BEAT_EVERY_MS = 1_500;
/** Others see within 10 seconds that a node died: this, a beat of theirs, and what it takes. */
const DEAD_AFTER_MS = 7_000;
/** A heartbeat that takes longer is cancelled, with its connection. */
const BEAT_LIMIT_MS = 4_000;
/** How long messages stay for a node that is cut off. */
const KEEP_MESSAGES_MS = 10 * 60_000;
const PRUNE_EVERY_MS = 60_000;

/** Nodes that find each other by a table of their database. */
export class SharedNodes implements Nodes {
  readonly bus: SharedBus;
  readonly leadership: Terms;
  readonly #known = new Map<string, NotedNode>();
  readonly #listeners = new Set<(change: NodeChange) => void>();
  readonly #stop = new AbortController();
  #running: Promise<unknown>[] = [];
  /** By `Clock.monotonicMs`: since when this node is seen without a gap, and the last time. */
  #steadySinceMs: number;
  #beatMs: number;
  #isLeading = false;

  private constructor(private readonly options: SharedNodesOptions) {
    const { store, clock, log } = options;
    this.bus = new SharedBus({ store, clock, log });
    this.leadership = new Terms(clock, log);
    this.#steadySinceMs = this.#beatMs = clock.monotonicMs();
  }

  /** @throws {DatabaseUnreachableError} */
  static async join(options: SharedNodesOptions): Promise<SharedNodes> {
    const nodes = new SharedNodes(options);
    await nodes.bus.open();
    await nodes.#beat();
    nodes.#start();
    return nodes;
  }

  get id(): string {
    return this.options.self.id;
  }

  members(): readonly NodeDescription[] {
    return [...this.#known.values()];
  }

  isMember(id: string): boolean {
    return this.#known.has(id);
  }

  listen(listener: (change: NodeChange) => void): Disposable {
    const own = (change: NodeChange) => listener(change);
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  async close(): Promise<void> {
    const { store, log } = this.options;
    this.#stop.abort();
    await Promise.all(this.#running);
    this.leadership.end();
    await this.bus.close();
    await store.leave().catch((error: Error) =>
      log.warn("cannot notify the other nodes that this one goes; they will see it", {
        error: error.message,
      })
    );
    await store[Symbol.asyncDispose]();
  }

  #start(): void {
    const { clock, log } = this.options;
    const { signal } = this.#stop;
    const onFailure = (error: unknown) => {
      log.warn("cannot notify the other nodes that this one is there; retrying", {
        event: "node_cut_off",
        error: String(error),
      });
    };
    const wait = { clock, intervalMs: BEAT_EVERY_MS, firstMs: BEAT_EVERY_MS, onFailure };
    const prune = { clock, intervalMs: PRUNE_EVERY_MS, firstMs: PRUNE_EVERY_MS, onFailure };
    this.#running = [
      pollLoop(() => this.#beat(), wait, signal),
      this.leadership.run(
        (until) => pollLoop(() => this.options.store.prune(KEEP_MESSAGES_MS), prune, until),
        signal,
      ),
    ];
  }

  async #beat(): Promise<void> {
    const { store, self, clock } = this.options;
    const limit = this.#limit();
    const askedMs = clock.monotonicMs();
    let result: Awaited<ReturnType<NodeStore["beat"]>>;
    try {
      result = await store.beat(self);
    } catch (error) {
      // The others may count it as dead, and another one lead.
      if (clock.monotonicMs() - this.#beatMs >= DEAD_AFTER_MS) store.reset();
      throw error;
    } finally {
      limit.cancel();
    }
    this.options.time?.set(result.nowMs, askedMs);
    const nowMs = clock.monotonicMs();
    const gapMs = nowMs - this.#beatMs;
    const isFirst = this.#known.size === 0;
    const wasDead = !isFirst && (!result.wasNoted || gapMs >= DEAD_AFTER_MS);
    if (wasDead) this.#steadySinceMs = nowMs;
    this.#beatMs = nowMs;
    await this.#learn(result.nodes, isFirst);
    if (wasDead) {
      this.options.log.warn("the other nodes did not see this one for a while", {
        event: "node_back",
        seconds: Math.round(gapMs / 1_000),
      });
      this.#tell({ id: this.id, kind: "back" });
    }
    this.#tryToLead();
  }

  #limit(): Timer {
    return this.options.clock.setTimer(BEAT_LIMIT_MS, () => this.options.store.reset());
  }

  async #learn(noted: readonly NotedNode[], isFirst: boolean): Promise<void> {
    const { store, clock, log } = this.options;
    // Who was cut off together with others cannot tell which of them died.
    const canTell = clock.monotonicMs() - this.#steadySinceMs >= DEAD_AFTER_MS;
    const byId = new Map(noted.map((node) => [node.id, node]));
    for (const node of noted) {
      const isKnown = this.#known.has(node.id);
      const isSilent = node.silentMs >= DEAD_AFTER_MS && node.id !== this.id;
      if (isSilent && canTell) {
        // All that it has open ends: also the lock of the leader, and that of the writers.
        await store.evict(node.id);
        byId.delete(node.id);
        if (isKnown) this.#forget(node, "died");
        continue;
      }
      if (isSilent && !isKnown) continue;
      this.#known.set(node.id, node);
      if (isKnown || isFirst) continue;
      log.info("a node joined", { event: "node_joined", node: node.id, host: node.host });
      this.#tell({ id: node.id, kind: "joined" });
    }
    for (const node of [...this.#known.values()]) {
      if (byId.has(node.id)) continue;
      // Another node may have seen first that it died.
      this.#forget(node, "left");
    }
  }

  #forget(node: NotedNode, kind: "left" | "died"): void {
    if (!this.#known.delete(node.id)) return;
    const { log } = this.options;
    const what = { node: node.id, host: node.host, address: node.address };
    if (kind === "died") log.warn("a node died, or is cut off", { event: "node_died", ...what });
    else log.info("a node left", { event: "node_left", ...what });
    this.#tell({ id: node.id, kind });
  }

  #tell(change: NodeChange): void {
    for (const listener of [...this.#listeners]) listener(change);
  }

  /** Does not wait: that the node is there must be said while the lock is waited for. */
  #tryToLead(): void {
    if (this.#isLeading || this.#stop.signal.aborted) return;
    const { store, log } = this.options;
    this.#isLeading = true;
    let isOver = false;
    const lost = () => {
      isOver = true;
      this.#isLeading = false;
      this.leadership.end();
    };
    const trying = store.lead(lost).then(
      (term) => {
        if (term === undefined) this.#isLeading = false;
        else if (!isOver) this.leadership.begin(term);
      },
      (error: Error) => {
        lost();
        log.warn("cannot find out which node leads; retrying", { error: error.message });
      },
    );
    this.#running[2] = trying;
  }
}
