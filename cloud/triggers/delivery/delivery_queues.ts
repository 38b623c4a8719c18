/** Which notification goes next. Pure: the deliverer keeps it, the database is what counts. */

/** A notification that waits, by its number in the database. */
export interface Waiting {
  readonly seq: number;
  readonly endpoint: string;
  /** Not before this. */
  readonly dueMs: number;
}

/** How many requests are under way at most. */
export interface DeliveryLimits {
  /** Altogether. */
  readonly total: number;
  /** Of those that began within the last second: what hangs leaves the others their share. */
  readonly quick: number;
  /** To endpoints that failed last. */
  readonly troubled: number;
  /** To one endpoint. */
  readonly perEndpoint: number;
}

export const DELIVERY_LIMITS: DeliveryLimits = {
  total: 1_024,
  quick: 384,
  troubled: 128,
  perEndpoint: 8,
};
/** An endpoint of which nothing is known gets so many; each delivery doubles that. */
const FIRST_ALLOWANCE = 2;
/** A request that takes longer no longer counts as quick. */
export const SLOW_AFTER_MS = 1_000;
/** Waiting notifications of one endpoint that are held in memory; the others stay on disk. */
const HELD_PER_ENDPOINT = 1_000;
/** Answers with a failing status in a row after which an endpoint counts as troubled. */
const FAILURES_UNTIL_TROUBLED = 3;

interface Queue {
  readonly endpoint: string;
  /** By when they are due. */
  readonly waiting: Waiting[];
  /** Numbers of those under way. */
  readonly underWay: Set<number>;
  /** How many may be under way. */
  allowance: number;
  failures: number;
  troubled: boolean;
  /** A troubled endpoint is left alone until then. */
  holdUntilMs: number;
  /** More wait on disk than are held here. */
  hasMore: boolean;
}

/** How a request to an endpoint ended, as far as its queue is concerned. */
export type EndpointSign =
  | { readonly kind: "well" }
  /** The receiver answered that it failed; others of its notifications may fare better. */
  | { readonly kind: "failed"; readonly holdUntilMs: number }
  /** Nobody answered, or wanted a pause: the next one would fare no better. */
  | { readonly kind: "unreachable"; readonly holdUntilMs: number };

/**
 * A queue for each endpoint, so that none waits behind another. What others may wait for is room
 * among the quick requests, and a dead endpoint takes little of that and not for long: it is
 * queried twice, for a second each counts as quick, and what is known to be away is queried one at
 * a time.
 */
export class DeliveryQueues {
  readonly #queues = new Map<string, Queue>();
  readonly #known = new Set<number>();
  /** When those began that count as quick, the oldest first. */
  readonly #quick = new Map<number, number>();
  #underWay = 0;
  #troubledUnderWay = 0;

  constructor(private readonly limits: DeliveryLimits = DELIVERY_LIMITS) {}

  get underWay(): number {
    return this.#underWay;
  }

  /** Takes a notification up; one that is known already only comes forward when it is due sooner. */
  add(one: Waiting): void {
    const queue = this.#queue(one.endpoint);
    if (this.#known.has(one.seq)) {
      const at = queue.waiting.findIndex(({ seq, dueMs }) => seq === one.seq && dueMs > one.dueMs);
      if (at < 0) return;
      queue.waiting.splice(at, 1);
      this.#known.delete(one.seq);
    }
    if (queue.waiting.length >= HELD_PER_ENDPOINT) {
      queue.hasMore = true;
      return;
    }
    this.#known.add(one.seq);
    queue.waiting.splice(placeFor(queue.waiting, one.dueMs), 0, one);
  }

  /** At most so many that may start now; each counts as under way until it has {@link ended}. */
  take(nowMs: number, most: number): Waiting[] {
    this.#setSlowAside(nowMs);
    const taken: Waiting[] = [];
    for (const queue of [...this.#queues.values()]) {
      const before = taken.length;
      while (taken.length < most) {
        const one = this.#next(queue, nowMs);
        if (!one) break;
        queue.waiting.shift();
        this.#begin(queue, one, nowMs);
        taken.push(one);
      }
      if (taken.length > before) this.#toTheBack(queue);
      if (taken.length >= most || this.#underWay >= this.limits.total) break;
    }
    return taken;
  }

  /**
   * A notification that was taken is over.
   *
   * @param again when it is tried again; undefined: never
   */
  ended(one: Waiting, sign: EndpointSign, again: number | undefined): void {
    const queue = this.#queue(one.endpoint);
    this.#end(queue, one);
    this.#note(queue, sign);
    this.#known.delete(one.seq);
    if (again !== undefined) this.add({ ...one, dueMs: again });
    this.#drop(queue);
  }

  /** A notification that was taken could not be started: it waits again, or is forgotten. */
  notStarted(one: Waiting, again: number | undefined): void {
    const queue = this.#queue(one.endpoint);
    this.#end(queue, one);
    this.#known.delete(one.seq);
    if (again !== undefined) this.add({ ...one, dueMs: again });
    this.#drop(queue);
  }

  /** When something may start without anything ending first; undefined: nothing waits. */
  nextMs(): number | undefined {
    let next: number | undefined;
    for (const queue of this.#queues.values()) {
      const [first] = queue.waiting;
      if (!first || this.#isFull(queue)) continue;
      const at = Math.max(first.dueMs, queue.holdUntilMs, this.#roomAtMs(queue));
      if (next === undefined || at < next) next = at;
    }
    return next;
  }

  /** Endpoints of which more waits on disk and little here. Asking takes it as done. */
  takeHungry(): string[] {
    const hungry = [...this.#queues.values()].filter((queue) =>
      queue.hasMore && queue.waiting.length < HELD_PER_ENDPOINT / 4
    );
    for (const queue of hungry) queue.hasMore = false;
    return hungry.map(({ endpoint }) => endpoint);
  }

  #next(queue: Queue, nowMs: number): Waiting | undefined {
    const [first] = queue.waiting;
    if (!first || first.dueMs > nowMs || queue.holdUntilMs > nowMs) return undefined;
    return this.#isFull(queue) || this.#roomAtMs(queue) > nowMs ? undefined : first;
  }

  /** Something has to end first. */
  #isFull(queue: Queue): boolean {
    if (this.#underWay >= this.limits.total) return true;
    if (!queue.troubled) return queue.underWay.size >= queue.allowance;
    // One request at a time finds out whether a troubled endpoint is back.
    return queue.underWay.size >= 1 || this.#troubledUnderWay >= this.limits.troubled;
  }

  /** When a quick one at the latest makes room, if there is none. */
  #roomAtMs(queue: Queue): number {
    if (queue.troubled || this.#quick.size < this.limits.quick) return 0;
    const [oldestMs = 0] = this.#quick.values();
    return oldestMs + SLOW_AFTER_MS;
  }

  #setSlowAside(nowMs: number): void {
    for (const [seq, beganMs] of this.#quick) {
      if (beganMs + SLOW_AFTER_MS > nowMs) return;
      this.#quick.delete(seq);
    }
  }

  #begin(queue: Queue, { seq }: Waiting, nowMs: number): void {
    queue.underWay.add(seq);
    this.#underWay++;
    if (queue.troubled) this.#troubledUnderWay++;
    else this.#quick.set(seq, nowMs);
  }

  #end(queue: Queue, { seq }: Waiting): void {
    queue.underWay.delete(seq);
    this.#quick.delete(seq);
    this.#underWay--;
    if (queue.troubled) this.#troubledUnderWay--;
  }

  #setTroubled(queue: Queue, troubled: boolean): void {
    if (queue.troubled === troubled) return;
    queue.troubled = troubled;
    const { size } = queue.underWay;
    this.#troubledUnderWay += troubled ? size : -size;
    if (!troubled) return;
    queue.allowance = FIRST_ALLOWANCE;
    for (const seq of queue.underWay) this.#quick.delete(seq);
  }

  #note(queue: Queue, sign: EndpointSign): void {
    if (sign.kind === "well") {
      this.#setTroubled(queue, false);
      queue.allowance = Math.min(this.limits.perEndpoint, queue.allowance * 2);
      queue.failures = 0;
      queue.holdUntilMs = 0;
      return;
    }
    queue.failures++;
    const troubled = sign.kind === "unreachable" || queue.failures >= FAILURES_UNTIL_TROUBLED;
    if (!troubled) return;
    this.#setTroubled(queue, true);
    queue.holdUntilMs = Math.max(queue.holdUntilMs, sign.holdUntilMs);
  }

  #queue(endpoint: string): Queue {
    const known = this.#queues.get(endpoint);
    if (known) return known;
    const queue: Queue = {
      endpoint,
      waiting: [],
      underWay: new Set(),
      allowance: Math.min(FIRST_ALLOWANCE, this.limits.perEndpoint),
      failures: 0,
      troubled: false,
      holdUntilMs: 0,
      hasMore: false,
    };
    this.#queues.set(endpoint, queue);
    return queue;
  }

  /** Whoever was served comes last the next time. */
  #toTheBack(queue: Queue): void {
    this.#queues.delete(queue.endpoint);
    this.#queues.set(queue.endpoint, queue);
  }

  #drop(queue: Queue): void {
    if (queue.waiting.length + queue.underWay.size > 0 || queue.hasMore) return;
    this.#queues.delete(queue.endpoint);
  }
}

/** Where a new one goes: behind those that are due at the same time. */
function placeFor(waiting: readonly Waiting[], dueMs: number): number {
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((waiting[middle]?.dueMs ?? 0) <= dueMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
