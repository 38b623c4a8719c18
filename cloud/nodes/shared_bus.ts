import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { pollLoop } from "../../shared/workers/poll_loop.ts";
import type { NodeStore, OutgoingMessage } from "../storage/database/node_store.ts";
import { type MessageListener, type NodeBus, requirePayload, Subscribers } from "./node_bus.ts";

export interface SharedBusOptions {
  readonly store: Pick<NodeStore, "processId" | "end" | "send" | "read" | "listen">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a message waits where its notification was lost. */
const LOOK_EVERY_MS = 400;
const TOGETHER = 500;
/** After a crash of the database numbers of messages that it lost are given again. */
const READ_AGAIN = 2_000;

interface Waiting {
  readonly message: OutgoingMessage;
  readonly sent: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * The bus over a table of the database: what is in it and was not read yet is delivered. A
 * notification says when to look; where that is lost, a look every 0.4 s makes up for it.
 */
export class SharedBus implements NodeBus {
  readonly #subscribers: Subscribers;
  readonly #outgoing: Waiting[] = [];
  #sending: Promise<void> | undefined;
  #after = 0;
  /** Keys of what was delivered, newest last. */
  readonly #delivered = new Set<string>();
  #reading: Promise<void> | undefined;
  #isDue = false;
  #listening: Disposable | undefined;
  readonly #stop = new AbortController();
  #polling: Promise<unknown> | undefined;

  constructor(private readonly options: SharedBusOptions) {
    this.#subscribers = new Subscribers(options.log);
  }

  /** Gets what is sent from now on. */
  async open(): Promise<void> {
    const { store, clock, log } = this.options;
    this.#after = await store.end();
    this.#listening = store.listen((again) => {
      if (again) this.#after = Math.max(0, this.#after - READ_AGAIN);
      this.#look();
    });
    const onFailure = (error: unknown) =>
      log.error("cannot read what other nodes sent; retrying", {
        event: "node_messages_failed",
        error: String(error),
      });
    this.#polling = pollLoop(
      () => this.drain(),
      { clock, intervalMs: LOOK_EVERY_MS, firstMs: LOOK_EVERY_MS, onFailure },
      this.#stop.signal,
    );
  }

  async publish(topic: string, payload: string, to?: string): Promise<void> {
    requirePayload(payload);
    const { processId } = this.options.store;
    if (to === undefined || to === processId) {
      this.#subscribers.tell(topic, { from: processId, payload });
      if (to !== undefined) return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#outgoing.push({ message: { to, topic, payload }, sent: resolve, failed: reject });
    this.#sending ??= this.#send();
    await promise;
  }

  subscribe(topic: string, listener: MessageListener): Disposable {
    return this.#subscribers.add(topic, listener);
  }

  /** Delivers what others sent until now. */
  async drain(): Promise<void> {
    this.#isDue = true;
    this.#reading ??= this.#readAll();
    await this.#reading;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#listening?.[Symbol.dispose]();
    await this.#polling;
    await this.#reading?.catch(() => undefined); // it was logged
    await this.#sending;
  }

  #look(): void {
    if (this.#stop.signal.aborted) return;
    this.drain().catch(() => undefined); // the look at intervals reports it
  }

  async #readAll(): Promise<void> {
    try {
      await Promise.resolve();
      while (this.#isDue) {
        this.#isDue = false;
        while (await this.#readSome());
      }
    } finally {
      // Here and not later: what is due from now on is for another one.
      this.#reading = undefined;
    }
  }

  /** @returns whether there may be more */
  async #readSome(): Promise<boolean> {
    const messages = await this.options.store.read(this.#after, TOGETHER);
    for (const { seq, key, from, message } of messages) {
      this.#after = Math.max(this.#after, seq);
      if (this.#delivered.has(key)) continue;
      this.#remember(key);
      if (message) this.#subscribers.tell(message.topic, { from, payload: message.payload });
    }
    return messages.length >= TOGETHER;
  }

  #remember(key: string): void {
    this.#delivered.add(key);
    if (this.#delivered.size <= READ_AGAIN * 2) return;
    const [oldest] = this.#delivered;
    if (oldest !== undefined) this.#delivered.delete(oldest);
  }

  /** Those that come while some are sent go together after them. */
  async #send(): Promise<void> {
    try {
      await Promise.resolve();
      while (this.#outgoing.length > 0) {
        const batch = this.#outgoing.splice(0, TOGETHER);
        try {
          await this.options.store.send(batch.map(({ message }) => message));
          for (const { sent } of batch) sent();
        } catch (error) {
          for (const { failed } of batch) failed(error);
        }
      }
    } finally {
      // Here and not later: what comes from now on is for another one.
      this.#sending = undefined;
    }
  }
}
