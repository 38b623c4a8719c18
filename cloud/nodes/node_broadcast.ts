import type { Clock, Timer } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { LARGEST_PAYLOAD } from "./node_bus.ts";
import type { Nodes } from "./nodes.ts";

/** What nodes hold in memory, each of its own machines, and all shall know. */
export interface Broadcast<T> {
  readonly topic: string;
  /** Everything of this node that a node which comes now must know. */
  all(): Iterable<T>;
  /** Another node says something of its own. */
  heard(items: readonly T[], from: string): void;
  /** A node is there no more; nothing that it said counts as present. */
  gone(node: string): void;
}

export interface BroadcastOptions<T> extends Broadcast<T> {
  readonly nodes: Nodes;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Who requested everything is a member within this time, or was none. */
const BECOMES_MEMBER_MS = 15_000;
const ASK = "?";
/** Room for brackets and commas. */
const FULL = LARGEST_PAYLOAD / 2;

/**
 * Reports to the other nodes what changes on this one, and gives a node that comes all of it. Items are
 * JSON; the newest of a key counts. A node that is alone sends nothing.
 */
export class NodeBroadcast<T> implements AsyncDisposable {
  readonly #due = new Map<string, () => T | undefined>();
  readonly #subscriptions: Disposable[];
  readonly #checks = new Set<Timer>();
  /** When others that are no members yet asked, by `Clock.monotonicMs`. */
  #askedMs = -Infinity;
  #timer: Timer | undefined;
  #dueMs = Infinity;
  #sending: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** Asks the others for everything. */
  constructor(private readonly options: BroadcastOptions<T>) {
    const { nodes, topic, gone } = options;
    this.#subscriptions = [
      nodes.bus.subscribe(topic, ({ from, payload }) => {
        if (from !== nodes.id) this.#heard(from, payload);
      }),
      nodes.listen(({ id, kind }) => {
        if (kind === "left" || kind === "died") gone(id);
        // Others have forgotten what it said, and it what they did.
        if (kind === "back") {
          for (const node of nodes.members()) if (node.id !== id) gone(node.id);
          this.#ask();
          this.#sendAll(undefined);
        }
      }),
    ];
    this.#ask();
  }

  /**
   * Something changed on this node.
   *
   * @param item read when it is sent; undefined: nothing is to be said
   * @param withinMs when the others must know
   * @returns false: there are no others
   */
  send(key: string, item: () => T | undefined, withinMs: number): boolean {
    if (this.#isClosed || !this.#hasOthers()) return false;
    this.#due.set(key, item);
    const { clock } = this.options;
    const atMs = clock.monotonicMs() + withinMs;
    if (this.#timer && atMs >= this.#dueMs) return true;
    this.#timer?.cancel();
    this.#dueMs = atMs;
    this.#timer = clock.setTimer(withinMs, () => this.#sendDue());
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sendDue();
    this.#isClosed = true;
    for (const timer of this.#checks) timer.cancel();
    for (const one of this.#subscriptions) one[Symbol.dispose]();
    await this.#sending;
  }

  #hasOthers(): boolean {
    const { nodes, clock } = this.options;
    return nodes.members().length > 1 ||
      clock.monotonicMs() - this.#askedMs < BECOMES_MEMBER_MS;
  }

  #heard(from: string, payload: string): void {
    const { nodes, clock, heard, gone } = this.options;
    if (payload === ASK) {
      this.#askedMs = clock.monotonicMs();
      return this.#sendAll(from);
    }
    heard(JSON.parse(payload) as T[], from);
    if (nodes.isMember(from)) return;
    // It comes, or what it said arrived after it had gone.
    const check = clock.setTimer(BECOMES_MEMBER_MS, () => {
      this.#checks.delete(check);
      if (!nodes.isMember(from)) gone(from);
    });
    this.#checks.add(check);
  }

  #ask(): void {
    if (this.options.nodes.members().length > 1) this.#publish(ASK, undefined);
  }

  #sendAll(to: string | undefined): void {
    this.#publishAll(this.options.all(), to);
  }

  #sendDue(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#dueMs = Infinity;
    const due = [...this.#due.values()].flatMap((item) => item() ?? []);
    this.#due.clear();
    this.#publishAll(due, undefined);
  }

  #publishAll(items: Iterable<T>, to: string | undefined): void {
    let texts: string[] = [];
    let length = 0;
    for (const item of items) {
      const text = JSON.stringify(item);
      if (length + text.length > FULL && texts.length > 0) {
        this.#publish(`[${texts.join()}]`, to);
        texts = [];
        length = 0;
      }
      texts.push(text);
      length += text.length + 1;
    }
    if (texts.length > 0) this.#publish(`[${texts.join()}]`, to);
  }

  #publish(payload: string, to: string | undefined): void {
    const { nodes, topic, log } = this.options;
    const sent = nodes.bus.publish(topic, payload, to).catch((error) =>
      log.warn("cannot notify the other nodes of changes", {
        event: "node_messages_failed",
        topic,
        error: String(error),
      })
    );
    this.#sending = Promise.all([this.#sending, sent]).then(() => undefined);
  }
}
