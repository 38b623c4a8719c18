import type { Client } from "pg";
import type { DatabaseLock } from "../database/cloud_database.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5_000;

/** Which lock, and whether several processes may have it together. */
export interface LockChoice {
  readonly number: bigint;
  readonly shared: boolean;
}

/**
 * A lock that one process has at a time, or several that share it, over all that use a database, as
 * long as its connection lasts. A connection that ends is made again; when another process has the lock by then, it is
 * lost for good.
 */
export class ServingLock implements DatabaseLock {
  readonly #stop = new AbortController();
  readonly #lost = Promise.withResolvers<void>();
  readonly #running: Promise<void>;

  private constructor(
    private readonly connect: () => Promise<Client>,
    private readonly lock: LockChoice,
    private readonly clock: Clock,
    first: Client,
  ) {
    this.#running = this.#keep(first);
  }

  /** @returns undefined when another process has it */
  static async take(
    connect: () => Promise<Client>,
    lock: LockChoice,
    clock: Clock,
  ): Promise<ServingLock | undefined> {
    const client = await connect();
    if (await tryLock(client, lock)) return new ServingLock(connect, lock, clock, client);
    await client.end();
    return undefined;
  }

  /** Resolves when another process has taken it. */
  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #keep(first: Client): Promise<void> {
    const { signal } = this.#stop;
    let client: Client | undefined = first;
    while (client) {
      await endOf(client, signal);
      await client.end().catch(() => undefined); // it may be gone
      client = signal.aborted ? undefined : await this.#takeAgain(signal);
    }
  }

  async #takeAgain(signal: AbortSignal): Promise<Client | undefined> {
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted;) {
      try {
        const client = await this.connect();
        if (await tryLock(client, this.lock)) return client;
        await client.end();
        this.#lost.resolve();
        return undefined;
      } catch {
        // Calls report that the database cannot be reached.
      }
      await this.clock.sleep(waitMs, signal).catch(() => undefined); // the loop looks itself
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
    return undefined;
  }
}

async function tryLock(client: Client, { number, shared }: LockChoice): Promise<boolean> {
  const { rows } = await client.query<{ taken: number }>(
    `select pg_try_advisory_lock${shared ? "_shared" : ""}($1) as taken`,
    [number.toString()],
  );
  return rows[0]?.taken === 1;
}

function endOf(client: Client, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  client.once("end", () => resolve());
  client.once("error", () => resolve());
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return promise;
}
