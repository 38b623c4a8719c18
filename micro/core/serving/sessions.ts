import { hex } from "../bytes/bytes.ts";
import type { Host, TimerId } from "../host/host.ts";
import { RpcError } from "../rpc/errors.ts";

/** More at a time are refused. */
export const MOST_SESSIONS = 32;
/** Default of `network.sessions.heartbeat_window`. Milliseconds. */
export const DEFAULT_WINDOW_MS = 2_000;

/** What it may be. Milliseconds. */
const SHORTEST_WINDOW_MS = 30;
const LONGEST_WINDOW_MS = 60_000;

/** A client that says regularly that it is still there. */
export interface Session {
  readonly id: string;
  readonly owner: string;
  lastSeenAt: number;
}

export interface SessionsOptions {
  readonly host: Pick<Host, "now" | "random" | "setTimer" | "clearTimer">;
  /** Ends the motions of these resources. */
  readonly halt: (names: ReadonlySet<string>) => void;
  /** Reports what was stopped and why. */
  readonly warn: (text: string) => void;
}

/** When a client falls silent, what it moved last is stopped. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** Name of a resource → the session that moved it last. */
  readonly #moved = new Map<string, Session>();
  #windowMs = DEFAULT_WINDOW_MS;
  #timer: TimerId | undefined;

  constructor(private readonly options: SessionsOptions) {}

  /** A session without a heartbeat for this long is over. Milliseconds, 30 to 60,000. */
  get windowMs(): number {
    return this.#windowMs;
  }
  set windowMs(ms: number) {
    this.#windowMs = Math.min(Math.max(ms, SHORTEST_WINDOW_MS), LONGEST_WINDOW_MS);
    this.#arm();
  }

  /** Ids of those that are alive. */
  get ids(): string[] {
    return [...this.#sessions.keys()];
  }

  /**
   * Starts a session, or continues with `resume` where that is the owner's and alive.
   *
   * @returns its id
   * @throws RpcError resource_exhausted
   */
  start(owner: string, resume: string): string {
    const { host } = this.options;
    const known = this.#sessions.get(resume);
    if (known?.owner === owner) {
      known.lastSeenAt = host.now();
      return resume;
    }
    if (this.#sessions.size >= MOST_SESSIONS) {
      throw new RpcError("resource_exhausted", `${MOST_SESSIONS} sessions are open`);
    }
    const id = hex(host.random(16));
    this.#sessions.set(id, { id, owner, lastSeenAt: host.now() });
    this.#arm();
    return id;
  }

  /** The session of a call or a heartbeat. @throws RpcError `SESSION_EXPIRED`, as clients expect */
  seen(owner: string, id: string): Session {
    const session = this.#sessions.get(id);
    if (session?.owner !== owner) throw expired();
    session.lastSeenAt = this.options.host.now();
    return session;
  }

  /** A call is about to move the resource. @throws RpcError where its session has ended since */
  moves(name: string, session: Session): void {
    if (this.#sessions.get(session.id) !== session) throw expired();
    this.#moved.set(name, session);
  }

  /** A call without a session has moved the resource: it continues when other callers leave. */
  movedWithout(name: string): void {
    this.#moved.delete(name);
  }

  close(): void {
    this.#sessions.clear();
    this.#moved.clear();
    this.#arm();
  }

  #endSilent(): void {
    const { host, halt, warn } = this.options;
    const latest = host.now() - this.#windowMs;
    for (const session of [...this.#sessions.values()]) {
      if (session.lastSeenAt > latest) continue;
      this.#sessions.delete(session.id);
      const names = [...this.#moved].filter(([, by]) => by === session).map(([name]) => name);
      if (names.length === 0) continue;
      for (const name of names) this.#moved.delete(name);
      warn(`a session of ${session.owner} expired; what it moved is stopped: ${names.join(", ")}`);
      halt(new Set(names));
    }
  }

  /** One timer for all: at the earliest moment at which one may be over. */
  #arm(): void {
    const { host } = this.options;
    if (this.#timer !== undefined) host.clearTimer(this.#timer);
    this.#timer = undefined;
    if (this.#sessions.size === 0) return;
    const first = Math.min(...[...this.#sessions.values()].map(({ lastSeenAt }) => lastSeenAt));
    this.#timer = host.setTimer(Math.max(1, first + this.#windowMs - host.now()), () => {
      this.#timer = undefined;
      this.#endSilent();
      this.#arm();
    });
  }
}

function expired(): RpcError {
  return new RpcError("invalid_argument", "SESSION_EXPIRED");
}
