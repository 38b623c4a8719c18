import { AsyncLocalStorage } from "node:async_hooks";

/** This node led, and another one does by now. Nothing of the transaction was kept. */
export class LeadershipLostError extends Error {
  override readonly name = "LeadershipLostError";

  constructor() {
    super("another node leads by now");
  }
}

const current = new AsyncLocalStorage<number>();

/**
 * Does work that only the leader may do. Each transaction in it is refused, with
 * {@link LeadershipLostError}, once there was another leader: a node that stood still does not know
 * that it is not the leader any more.
 *
 * @param term of the leader
 */
export function runInTerm<T>(term: number, work: () => T): T {
  return current.run(term, work);
}

/** Undefined: the work is not that of a leader. */
export function currentTerm(): number | undefined {
  return current.getStore();
}
