import { createHmac, randomBytes } from "node:crypto";
import { AttemptBuckets, type BucketLimits } from "./attempt_buckets.ts";
import { addressBlock } from "../../rpc/server/address_block.ts";

/** How many wrong attempts there may be, and how fast they come back. */
export interface AttemptLimits {
  /** Of one entity from one address block; default 20 in a row, then 10 a minute. */
  readonly entity: BucketLimits;
  /**
   * Of all entities from one address block; default 200 in a row, then 1,200 a minute: so many
   * verifications of 8 ms are a sixth of a core.
   */
  readonly address: BucketLimits;
}

const DEFAULT_LIMITS: AttemptLimits = {
  entity: { burst: 20, perMinute: 10 },
  address: { burst: 200, perMinute: 1_200 },
};

/** Somebody who wants to be let in. */
export interface Attempt {
  /** IP address of the peer. */
  readonly address: string;
  /** What is proven, and by whom; undefined for what nobody can guess, such as a signed token. */
  readonly credential?: {
    readonly type: string;
    readonly entity: string;
    readonly payload: string;
  };
}

/** How an attempt ended. `refused`: nothing was verified, as there were too many wrong ones. */
export type AttemptOutcome<Value> =
  | { readonly kind: "right"; readonly value: Value }
  | { readonly kind: "wrong" }
  | { readonly kind: "refused" };

/** Attempts are counted by address block, and by entity and block together. */
export type AttemptsBy = "address" | "entity";

const REMEMBERED_CREDENTIALS = 10_000;
/**
 * Attempts that wait for others of their address block. Where all are too many, one is refused of the
 * block that has the most: floods, also from many addresses, refuse nobody of whom fewer wait.
 */
const MOST_WAITING_OF_ONE = 1_000;
const MOST_WAITING = 10_000;

/** What is reported to a caller whose attempt was refused. */
export const TOO_MANY_ATTEMPTS =
  "too many failed attempts to authenticate from this address; wait a minute";

/**
 * Slows down guessing. An attempt is reserved before anything is verified and given back when it
 * was right, so that concurrent guesses count and a fleet behind one address is not slowed down:
 * while reservations are out, others wait for them. A credential that was right before in this
 * process always passes, whatever else comes from its address. IPv6 addresses count by their /64.
 * Wrong attempts at other processes count where they are reported ({@link onWrong}, {@link charge}).
 */
export class AttemptLimiter {
  readonly #byEntity: AttemptBuckets;
  readonly #byAddress: AttemptBuckets;
  readonly #remembered = new Set<string>();
  /** What refuses each that waits, by address block; the last that came is the last. */
  readonly #waitingOf = new Map<string, Set<() => void>>();
  #waiting = 0;
  #onWrong: (by: AttemptsBy, key: string) => void = () => {};

  /** @param secret of keys of {@link AttemptsBy}: the same where processes count together */
  constructor(
    monotonicMs: () => number = () => performance.now(),
    limits: Partial<AttemptLimits> = {},
    private readonly secret: Uint8Array = randomBytes(32),
  ) {
    this.#byEntity = new AttemptBuckets(monotonicMs, limits.entity ?? DEFAULT_LIMITS.entity);
    this.#byAddress = new AttemptBuckets(monotonicMs, limits.address ?? DEFAULT_LIMITS.address);
  }

  /**
   * Verifies unless there were too many wrong attempts.
   *
   * @param verify gives undefined for what is wrong; what it throws counts as no attempt.
   */
  async attempt<Value>(
    { address, credential }: Attempt,
    verify: () => Promise<Value | undefined>,
  ): Promise<AttemptOutcome<Value>> {
    const block = addressBlock(address);
    const digest = credential &&
      this.#digest(credential.type, credential.entity, credential.payload);
    const entity = credential && this.#digest(block, credential.type, credential.entity);
    if (!await this.#reserved(block, entity, digest)) return { kind: "refused" };
    let wrong = false;
    try {
      const value = await verify();
      if (value !== undefined) {
        if (digest !== undefined) this.#remember(digest);
        return { kind: "right", value };
      }
      wrong = true;
      if (digest !== undefined) this.#remembered.delete(digest);
      return { kind: "wrong" };
    } finally {
      this.#byAddress.settle(block, wrong);
      if (entity !== undefined) this.#byEntity.settle(entity, wrong);
      if (wrong) this.#tell(block, entity);
    }
  }

  /** Counts a wrong attempt that was seen for wrong without an effort. */
  failed(address: string): void {
    const block = addressBlock(address);
    if (!this.#byAddress.free(block)) return;
    this.#byAddress.reserve(block);
    this.#byAddress.settle(block, true);
    this.#tell(block, undefined);
  }

  /** Has somebody learn of each wrong attempt that is counted. It must not take time. */
  onWrong(hear: (by: AttemptsBy, key: string) => void): void {
    this.#onWrong = hear;
  }

  /** Counts attempts that were wrong at another process. */
  charge(by: AttemptsBy, key: string, count: number): void {
    this.#of(by).charge(key, count);
  }

  /** Allows no more attempts than another process does. */
  lower(by: AttemptsBy, key: string, left: number): void {
    this.#of(by).lower(key, left);
  }

  /** How many attempts are left where there were wrong ones lately. */
  *levels(): Iterable<readonly [by: AttemptsBy, key: string, left: number]> {
    for (const by of ["address", "entity"] as const) {
      for (const [key, left] of this.#of(by).levels()) yield [by, key, left];
    }
  }

  #of(by: AttemptsBy): AttemptBuckets {
    return by === "address" ? this.#byAddress : this.#byEntity;
  }

  #tell(block: string, entity: string | undefined): void {
    this.#onWrong("address", block);
    if (entity !== undefined) this.#onWrong("entity", entity);
  }

  /** Whether the attempt may be verified now; it then must be settled. */
  async #reserved(
    block: string,
    entity: string | undefined,
    digest: string | undefined,
  ): Promise<boolean> {
    while (true) {
      const entityFree = entity === undefined || this.#byEntity.free(entity);
      const addressFree = this.#byAddress.free(block);
      if ((entityFree && addressFree) || (digest !== undefined && this.#remembered.has(digest))) {
        this.#byAddress.reserve(block);
        if (entity !== undefined) this.#byEntity.reserve(entity);
        return true;
      }
      const settled = !entityFree && entity !== undefined
        ? await this.#settled(block, this.#byEntity, entity)
        : await this.#settled(block, this.#byAddress, block);
      if (!settled) return false;
    }
  }

  /** Waits for a reservation of a bucket to end. False: none is out, or there is no room to wait. */
  async #settled(block: string, buckets: AttemptBuckets, key: string): Promise<boolean> {
    const own = this.#waitingOf.get(block) ?? new Set();
    if (own.size >= MOST_WAITING_OF_ONE) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const wake = () => resolve(true);
    if (!buckets.wait(key, wake)) return false;
    const refuse = () => resolve(false);
    if (this.#waiting >= MOST_WAITING && !this.#makeRoom(own.size + 1)) refuse();
    this.#waitingOf.set(block, own.add(refuse));
    this.#waiting++;
    try {
      return await promise;
    } finally {
      buckets.leave(key, wake);
      this.#forget(block, refuse);
    }
  }

  /** Refuses one of a block of which more than so many wait, the last that came. */
  #makeRoom(most: number): boolean {
    let largest: [block: string, waiting: Set<() => void>] | undefined;
    for (const entry of this.#waitingOf) {
      if (entry[1].size > (largest?.[1].size ?? most)) largest = entry;
    }
    if (!largest) return false;
    const [block, waiting] = largest;
    const refuse = [...waiting].at(-1);
    if (!refuse) return false;
    refuse();
    this.#forget(block, refuse);
    return true;
  }

  #forget(block: string, refuse: () => void): void {
    const waiting = this.#waitingOf.get(block);
    if (!waiting?.delete(refuse)) return;
    this.#waiting--;
    if (waiting.size === 0) this.#waitingOf.delete(block);
  }

  #remember(digest: string): void {
    this.#remembered.delete(digest);
    this.#remembered.add(digest);
    if (this.#remembered.size <= REMEMBERED_CREDENTIALS) return;
    const [oldest] = this.#remembered;
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }

  /** Short whatever a caller sends, and worth nothing to whoever has no secret. */
  #digest(...pieces: readonly string[]): string {
    return createHmac("sha256", this.secret).update(JSON.stringify(pieces)).digest("base64url");
  }
}
