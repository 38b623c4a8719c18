import type { Logger } from "../../shared/log/logger.ts";

/** What a node sent. */
export interface NodeMessage {
  /** Id of the node. */
  readonly from: string;
  readonly payload: string;
}

/** Takes messages; it must return soon. */
export type MessageListener = (message: NodeMessage) => void;

/** Larger payloads are refused, in characters: send ids of what is in the database. */
export const LARGEST_PAYLOAD = 256 * 1024;

/**
 * Messages between the nodes that serve together. Each node that is there gets each message once,
 * those of one node in their order. A node that was cut off for minutes, or that dies, loses
 * messages: what must not be lost belongs into the database, with a message that says so.
 */
export interface NodeBus {
  /**
   * Sends to the subscribers of a topic on every node. Those on this node have it when the call
   * returns, the others milliseconds later.
   *
   * @param to id of the only node that gets it; left out: all
   * @returns when the others will get it
   * @throws {DatabaseUnreachableError}
   */
  publish(topic: string, payload: string, to?: string): Promise<void>;

  /** Calls `listener` with the messages of a topic, until the result is disposed of. */
  subscribe(topic: string, listener: MessageListener): Disposable;
}

/** Who listens on this node. */
export class Subscribers {
  readonly #byTopic = new Map<string, Set<MessageListener>>();

  constructor(private readonly log: Pick<Logger, "error">) {}

  add(topic: string, listener: MessageListener): Disposable {
    const own: MessageListener = (message) => listener(message);
    const listeners = this.#byTopic.get(topic) ?? new Set();
    this.#byTopic.set(topic, listeners.add(own));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(own);
        if (listeners.size === 0 && this.#byTopic.get(topic) === listeners) {
          this.#byTopic.delete(topic);
        }
      },
    };
  }

  tell(topic: string, message: NodeMessage): void {
    for (const listener of [...this.#byTopic.get(topic) ?? []]) {
      try {
        listener(message);
      } catch (error) {
        this.log.error("a message of a node was not understood", {
          event: "node_messages_failed",
          topic,
          error: String(error),
        });
      }
    }
  }
}

/** The bus of a node that is alone. */
export class LocalBus implements NodeBus {
  readonly #subscribers: Subscribers;

  constructor(private readonly nodeId: string, log: Pick<Logger, "error">) {
    this.#subscribers = new Subscribers(log);
  }

  publish(topic: string, payload: string, to = this.nodeId): Promise<void> {
    requirePayload(payload);
    if (to === this.nodeId) this.#subscribers.tell(topic, { from: this.nodeId, payload });
    return Promise.resolve();
  }

  subscribe(topic: string, listener: MessageListener): Disposable {
    return this.#subscribers.add(topic, listener);
  }
}

/** @throws {RangeError} for one that is too large */
export function requirePayload(payload: string): void {
  if (payload.length <= LARGEST_PAYLOAD) return;
  throw new RangeError(`a message of ${payload.length} characters is too large for other nodes`);
}
