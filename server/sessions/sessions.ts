/** Sessions: clients that say regularly that they are still there. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../shared/time/clock.ts";

/** More at a time are refused; the reference's figure. */
const MOST_SESSIONS = 1024;
/** Default of `network.sessions.heartbeat_window`, in milliseconds. */
export const DEFAULT_HEARTBEAT_WINDOW_MS = 2_000;

interface Session {
  readonly id: string;
  /** The authenticated entity; empty where nobody signs in. */
  readonly owner: string;
  lastSeenMs: number;
}

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** A session without a heartbeat for this long is over. Milliseconds. */
  heartbeatWindowMs = DEFAULT_HEARTBEAT_WINDOW_MS;

  constructor(private readonly clock: Clock) {}

  /**
   * Starts a session, or goes on with `resume` when that one is the owner's and still alive.
   *
   * @returns its id.
   * @throws {ConnectError} RESOURCE_EXHAUSTED
   */
  start(owner: string, resume: string): string {
    this.#removeExpired();
    const known = this.#sessions.get(resume);
    if (known && known.owner === owner) {
      known.lastSeenMs = this.clock.monotonicMs();
      return known.id;
    }
    if (this.#sessions.size >= MOST_SESSIONS) {
      throw new ConnectError(
        `too many concurrent sessions: ${MOST_SESSIONS} are open`,
        Code.ResourceExhausted,
      );
    }
    const id = crypto.randomUUID();
    this.#sessions.set(id, { id, owner, lastSeenMs: this.clock.monotonicMs() });
    return id;
  }

  /** @throws {ConnectError} INVALID_ARGUMENT `SESSION_EXPIRED`, the text that clients look for. */
  heartbeat(owner: string, id: string): void {
    this.#removeExpired();
    const session = this.#sessions.get(id);
    if (session?.owner !== owner) throw new ConnectError("SESSION_EXPIRED", Code.InvalidArgument);
    session.lastSeenMs = this.clock.monotonicMs();
  }

  /** Ids of the sessions that are alive. */
  list(): string[] {
    this.#removeExpired();
    return [...this.#sessions.keys()];
  }

  #removeExpired(): void {
    const oldestMs = this.clock.monotonicMs() - this.heartbeatWindowMs;
    for (const session of this.#sessions.values()) {
      if (session.lastSeenMs < oldestMs) this.#sessions.delete(session.id);
    }
  }
}
