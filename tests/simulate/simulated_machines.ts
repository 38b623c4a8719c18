import { setTimeout as sleep } from "node:timers/promises";
import { WatchConnections } from "../bench/watch_connections.ts";
import { Latencies } from "./latencies.ts";

/** As machine-server: it comes back after a second, and up to this much later. */
const FIRST_RETRY_MS = 1_000;
const RETRY_JITTER_MS = 4_000;
const CONNECTING_AT_ONCE = 100;

/** Machines of which there is no more than a connection with a stream of changes each. */
export class SimulatedMachines implements Disposable {
  /** From a connection that was lost until the stream of the next one speaks. */
  readonly reconnects = new Latencies();
  readonly #connections: WatchConnections;
  readonly #online = new Set<number>();
  readonly #lostAt = new Map<number, number>();
  readonly #notified = new Map<number, (() => void)[]>();
  #connecting = 0;
  #isOver = false;

  constructor(
    private readonly partIds: readonly string[],
    port: number,
    token: string,
  ) {
    this.#connections = new WatchConnections(port, token, {
      heard: (n, event) => this.#heard(n, event),
      ended: (n) => this.#ended(n),
    });
  }

  get online(): number {
    return this.#online.size;
  }

  get count(): number {
    return this.partIds.length;
  }

  idOf(n: number): string {
    return this.partIds[n % this.partIds.length] ?? "";
  }

  /** Connects all of them; resolves when each has its stream. */
  async connect(): Promise<void> {
    for (let n = 0; n < this.count; n++) {
      while (this.#connecting >= CONNECTING_AT_ONCE) await sleep(2);
      void this.#open(n);
    }
    while (this.online < this.count) await sleep(20);
  }

  /** Pulls the cable of a machine; it comes back on its own. */
  cut(n: number): void {
    if (!this.#online.delete(n)) return;
    this.#lostAt.set(n, performance.now());
    this.#connections.close(n);
  }

  /** Resolves when a machine learns that its configuration changed. */
  notified(n: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#notified.set(n, [...this.#notified.get(n) ?? [], resolve]);
    return promise;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#connections[Symbol.dispose]();
  }

  #heard(n: number, event: string): void {
    this.#online.add(n);
    const lostAt = this.#lostAt.get(n);
    this.#lostAt.delete(n);
    if (lostAt !== undefined) this.reconnects.add(performance.now() - lostAt);
    // The first message of a stream names the configuration, which may have changed meanwhile.
    if (event !== "configChanged") return;
    for (const notify of this.#notified.get(n) ?? []) notify();
    this.#notified.delete(n);
  }

  #ended(n: number): void {
    this.#online.delete(n);
    if (this.#isOver) return;
    if (!this.#lostAt.has(n)) this.#lostAt.set(n, performance.now());
    void sleep(FIRST_RETRY_MS + Math.random() * RETRY_JITTER_MS).then(() => this.#open(n));
  }

  async #open(n: number): Promise<void> {
    if (this.#isOver) return;
    this.#connecting++;
    try {
      await this.#connections.open(n, this.idOf(n));
    } catch {
      this.#ended(n);
    } finally {
      this.#connecting--;
    }
  }
}
