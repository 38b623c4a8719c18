import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Mailbox } from "../../api/streams/mailbox.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { LogLine } from "./log_line.ts";
import type { LogStore } from "./log_store.ts";

/** Lines that wait for a slow reader, at most; older ones are left out. */
const WAITING_LINES = 5_000;

/** Whether somebody reads along on a node. */
interface Followed {
  readonly part: string;
  readonly isFollowed: boolean;
}

const FOLLOWED_TOPIC = "log-followed";
/** Keys of lines that came to one node, for one on which somebody reads along. */
const LINES_TOPIC = "log-lines";
/** Another node learns within this time that somebody reads along. */
const TELL_MS = 0;
const KEYS_TOGETHER = 2_000;

interface SharedTail {
  readonly nodes: Nodes;
  readonly broadcast: NodeBroadcast<Followed>;
  readonly log: Logger;
}

/** Passes new lines on to whoever reads along, on this node or another one. */
export class LogTail {
  readonly #readers = new Map<string, Set<Mailbox<LogLine>>>();
  /** Other nodes on which somebody reads along, by part. */
  readonly #elsewhere = new Map<string, Set<string>>();
  #shared: SharedTail | undefined;
  /** What other nodes sent is shown in its order. */
  #showing: Promise<void> = Promise.resolve();

  /** Shows lines that come to other nodes, and reports new ones to them, until it is disposed of. */
  share(
    nodes: Nodes,
    { logs, clock, log }: {
      readonly logs: Pick<LogStore, "find">;
      readonly clock: Clock;
      readonly log: Logger;
    },
  ): AsyncDisposable {
    const broadcast = new NodeBroadcast<Followed>({
      topic: FOLLOWED_TOPIC,
      all: () => [...this.#readers.keys()].map((part) => ({ part, isFollowed: true })),
      heard: (items, from) => {
        for (const { part, isFollowed } of items) this.#followed(part, from, isFollowed);
      },
      gone: (node) => {
        for (const part of [...this.#elsewhere.keys()]) this.#followed(part, node, false);
      },
      ...{ nodes, clock, log },
    });
    this.#shared = { nodes, broadcast, log };
    const lines = nodes.bus.subscribe(LINES_TOPIC, ({ from, payload }) => {
      if (from === nodes.id) return;
      const { part, keys } = JSON.parse(payload) as { part: string; keys: [string, number][] };
      if (!this.#readers.has(part)) return;
      const show = async () => {
        const wanted = keys.map(([timeNs, digest]) => ({ timeNs: BigInt(timeNs), digest }));
        this.#show(part, await logs.find(part, wanted));
      };
      this.#showing = this.#showing.then(show).catch((error) =>
        log.warn("cannot show log lines that came to another node", { error: String(error) })
      );
    });
    return {
      [Symbol.asyncDispose]: async () => {
        lines[Symbol.dispose]();
        this.#shared = undefined;
        await broadcast[Symbol.asyncDispose]();
        await this.#showing;
      },
    };
  }

  publish(partId: string, lines: readonly LogLine[]): void {
    if (lines.length === 0) return;
    this.#show(partId, lines);
    for (const node of this.#elsewhere.get(partId) ?? []) this.#send(partId, lines, node);
  }

  /** Everything that is published for a part from now on. Close the mailbox when done. */
  follow(partId: string): Mailbox<LogLine> {
    const readers = this.#readers.get(partId) ?? new Set();
    if (!this.#readers.has(partId)) {
      this.#readers.set(partId, readers);
      this.#tellFollowed(partId);
    }
    const mailbox = new Mailbox<LogLine>(WAITING_LINES, () => {
      readers.delete(mailbox);
      if (readers.size > 0) return;
      this.#readers.delete(partId);
      this.#tellFollowed(partId);
    });
    readers.add(mailbox);
    return mailbox;
  }

  /** Ends every reader. */
  close(): void {
    for (const readers of [...this.#readers.values()]) {
      for (const reader of [...readers]) reader.close();
    }
  }

  #show(partId: string, lines: readonly LogLine[]): void {
    for (const reader of this.#readers.get(partId) ?? []) reader.put(...lines);
  }

  #tellFollowed(part: string): void {
    const item = () => ({ part, isFollowed: this.#readers.has(part) });
    this.#shared?.broadcast.send(part, item, TELL_MS);
  }

  #followed(part: string, node: string, isFollowed: boolean): void {
    const nodes = this.#elsewhere.get(part) ?? new Set<string>();
    if (isFollowed) this.#elsewhere.set(part, nodes.add(node));
    else if (nodes.delete(node) && nodes.size === 0) this.#elsewhere.delete(part);
  }

  #send(part: string, lines: readonly LogLine[], node: string): void {
    const { nodes, log } = this.#shared ?? {};
    for (let at = 0; at < lines.length; at += KEYS_TOGETHER) {
      const keys = lines.slice(at, at + KEYS_TOGETHER)
        .map(({ timeNs, digest }) => [`${timeNs}`, digest]);
      void nodes?.bus.publish(LINES_TOPIC, JSON.stringify({ part, keys }), node).catch((error) =>
        log?.warn("cannot report log lines to another node", { error: String(error) })
      );
    }
  }
}
