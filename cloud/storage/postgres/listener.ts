import type { Client } from "pg";
import type { Clock } from "../../../shared/base/time/clock.ts";

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;

/**
 * A connection that learns when another process wrote something that is kept in memory. Lost, it is
 * made again, after longer and longer waits; what was missed meanwhile counts as a notification.
 */
export class Listener implements Disposable {
  readonly #stop = new AbortController();
  #client: Client | undefined;
  readonly #running: Promise<void>;

  /**
   * @param connect opens a connection
   * @param heard called for each notification, and, with `again`, each time that the connection is
   * there again
   */
  constructor(
    private readonly connect: () => Promise<Client>,
    private readonly channel: string,
    private readonly heard: (again: boolean) => void,
    private readonly clock: Clock,
  ) {
    this.#running = this.#run();
  }

  /** Whether notifications arrive at present. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  [Symbol.dispose](): void {
    void this.close();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let waitMs = FIRST_WAIT_MS;
    while (!signal.aborted) {
      try {
        await this.#listen(signal, () => waitMs = FIRST_WAIT_MS);
      } catch {
        // Changes are looked for at intervals meanwhile; calls report what is wrong.
      }
      if (signal.aborted) break;
      await this.clock.sleep(waitMs, signal).catch(() => undefined); // the loop looks itself
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }

  /** Until the connection ends. */
  async #listen(signal: AbortSignal, isUp: () => void): Promise<void> {
    const client = await this.connect();
    const ended = Promise.withResolvers<void>();
    const end = () => ended.resolve();
    client.on("error", end);
    client.on("end", end);
    client.on("notification", () => this.heard(false));
    signal.addEventListener("abort", end, { once: true });
    try {
      await client.query(`listen ${this.channel}`);
      this.#client = client;
      isUp();
      this.heard(true);
      if (!signal.aborted) await ended.promise;
    } finally {
      this.#client = undefined;
      signal.removeEventListener("abort", end);
      await client.end().catch(() => undefined); // it may be gone
    }
  }
}
