import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { LogQuota } from "./log_quota.ts";

/**
 * What a part has spent on a node since that said so last, or what is left of its share there; at
 * last, that this was all.
 */
type Spent =
  | { readonly part: string; readonly spent: number }
  | { readonly part: string; readonly left: number }
  | { readonly isAll: true };

const TOPIC = "log-spent";
/** Nodes know of each other's bytes within this time; a part goes over its share by as much. */
const TELL_MS = 500;

/** Counts together what a part sends to several nodes, until it is disposed of. */
export function shareQuota(
  quota: LogQuota,
  options: { readonly nodes: Nodes; readonly clock: Clock; readonly log: Logger },
): AsyncDisposable {
  // What these said before they answer is in their answers.
  const asked = new Set(options.nodes.members().map(({ id }) => id));
  asked.delete(options.nodes.id);
  const broadcast = new NodeBroadcast<Spent>({
    ...options,
    topic: TOPIC,
    all: () => [...quota.all(), { isAll: true }],
    heard: (items, from) => {
      for (const item of items) {
        if ("isAll" in item) asked.delete(from);
        else if ("left" in item) quota.lower(item.part, item.left);
        else if (!asked.has(from)) quota.spend(item.part, item.spent);
      }
    },
    gone: (node) => void asked.delete(node), // what it took is spent
  });
  quota.onSpent = (part, take) =>
    broadcast.send(part, () => ({ part, spent: take() }), TELL_MS) || take();
  return {
    [Symbol.asyncDispose]: async () => {
      quota.onSpent = () => undefined;
      await broadcast[Symbol.asyncDispose]();
    },
  };
}
