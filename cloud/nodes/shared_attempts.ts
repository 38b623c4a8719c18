import type { AttemptLimiter, AttemptsBy } from "../../shared/cloud/auth/attempt_limiter.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { NodeBroadcast } from "./node_broadcast.ts";
import type { Nodes } from "./nodes.ts";

/** Others know of a wrong attempt after this. */
const WITHIN_MS = 250;
/**
 * Keys of one message at most, so that guesses from a thousand networks do not fill the bus; what is
 * more counts on its own node.
 */
const MOST_AT_ONCE = 1_000;

/** `wrong` more attempts, or no more than `left` of them. */
interface Count {
  readonly limiter: string;
  readonly by: AttemptsBy;
  readonly key: string;
  readonly wrong?: number;
  readonly left?: number;
}

/**
 * Has wrong attempts count on all nodes: only they are sent, right ones cost nothing. Somebody who
 * tries all nodes within {@link WITHIN_MS} gets the attempts in a row of each of them once; what is
 * regained a minute is that of one node.
 *
 * @param limiters by a name that is theirs on all nodes, with a secret that is
 */
export function shareAttempts(
  nodes: Nodes,
  limiters: Readonly<Record<string, AttemptLimiter>>,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): AsyncDisposable {
  const wrong = new Map<string, number>();
  const broadcast = new NodeBroadcast<Count>({
    ...{ nodes, clock, log, topic: "attempts" },
    all: function* () {
      for (const [name, limiter] of Object.entries(limiters)) {
        for (const [by, key, left] of limiter.levels()) yield { limiter: name, by, key, left };
      }
    },
    heard(counts) {
      for (const { limiter: name, by, key, wrong, left } of counts) {
        const limiter = limiters[name];
        if (wrong !== undefined) limiter?.charge(by, key, wrong);
        if (left !== undefined) limiter?.lower(by, key, left);
      }
    },
    gone: () => {},
  });
  for (const [name, limiter] of Object.entries(limiters)) {
    limiter.onWrong((by, key) => {
      const id = `${name} ${by} ${key}`;
      if (wrong.size >= MOST_AT_ONCE && !wrong.has(id)) return;
      const take = (): Count | undefined => {
        const count = wrong.get(id);
        wrong.delete(id);
        return count === undefined ? undefined : { limiter: name, by, key, wrong: count };
      };
      if (broadcast.send(id, take, WITHIN_MS)) wrong.set(id, (wrong.get(id) ?? 0) + 1);
    });
  }
  return broadcast;
}
