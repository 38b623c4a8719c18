import { AsyncLocalStorage } from "node:async_hooks";

/** This node led, and another one does by now. Nothing of the transaction was kept. */
export class LeadershipLostError extends Error {
  override readonly name = "LeadershipLostError";

  constructor() {
    super("another node leads by now");
  }
}

interface Term {
  readonly number: number;
  isOver: boolean;
}

const current = new AsyncLocalStorage<Term>();

/**
 * Does work that only the leader may do. Each transaction in it is refused, with
 * {@link LeadershipLostError}, once there was another leader: a node that stood still does not know
 * that it is not the leader any more. What continues when the work has ended is not refused: Deno 2.9.6
 * has calls of others run in the context of one that has loaded code by `import()`.
 *
 * @param number of the term
 */
export async function runInTerm<T>(number: number, work: () => Promise<T>): Promise<T> {
  const term = { number, isOver: false };
  try {
    return await current.run(term, work);
  } finally {
    term.isOver = true;
  }
}

/** Undefined: the work is not that of a leader. */
export function currentTerm(): number | undefined {
  const term = current.getStore();
  return term?.isOver === false ? term.number : undefined;
}
