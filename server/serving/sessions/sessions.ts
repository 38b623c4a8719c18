/**
 * Sessions: clients that say regularly that they are still there. When one falls silent, what it
 * moved last is stopped.
 */
import { Code, ConnectError, type ContextKey, createContextKey } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { type Identity, identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Call, CallOutcome, Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { isMonitored, type MonitoredCall, type SafetyMonitor } from "./monitored.ts";

/** More at a time are refused; the reference's figure. */
const MOST_SESSIONS = 1024;
/** Default of `network.sessions.heartbeat_window`, in milliseconds. */
export const DEFAULT_HEARTBEAT_WINDOW_MS = 2_000;
/** The deadline of a stop. Milliseconds. */
const STOP_TIMEOUT_MS = 10_000;

/** Request metadata: the session that a call belongs to. */
const SESSION_HEADER = "viam-sid";
/** Response metadata: full name of the resource that is stopped when the session ends. */
const RESOURCE_HEADER = "viam-smrn";

/** Calls without which a client could not come to a session, or that look at one themselves. */
const WITHOUT_SESSION: ReadonlySet<string> = new Set([
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
  "/proto.rpc.v1.AuthService/Authenticate",
  "/viam.robot.v1.RobotService/ResourceNames",
  "/viam.robot.v1.RobotService/ResourceRPCSubtypes",
  "/viam.robot.v1.RobotService/SendSessionHeartbeat",
  "/viam.robot.v1.RobotService/StartSession",
]);

interface Session {
  readonly id: string;
  /** The authenticated entity; empty where nobody signs in. */
  readonly owner: string;
  /** Who signed in; undefined where nobody does. */
  readonly identity: Identity | undefined;
  lastSeenMs: number;
}

/** Of a monitored call: its session. */
const sessionKey: ContextKey<Session | undefined> = createContextKey<Session | undefined>(
  undefined,
  { description: "session of the call" },
);

/** Of a monitored call without session: whose resource it takes over if it succeeds. */
const takenOverKey: ContextKey<{ resource: string; from: Session } | undefined> = createContextKey<
  { resource: string; from: Session } | undefined
>(undefined, { description: "resource taken over by a call without session" });

export interface SessionsOptions {
  /** Stops a resource, by its full name; it may be gone by then. */
  stop: (resource: string, signal: AbortSignal) => void | Promise<void>;
  log: Logger;
}

/**
 * Keeps the sessions. Mount {@link Sessions.interceptor} behind the authentication, and call
 * {@link Sessions.used} for every call to a resource.
 */
export class Sessions implements SafetyMonitor {
  readonly #sessions = new Map<string, Session>();
  /** Full name of a resource → the session that last moved it. */
  readonly #moved = new Map<string, Session>();
  #heartbeatWindowMs = DEFAULT_HEARTBEAT_WINDOW_MS;
  #timer: Timer | undefined;

  /** @param options without them nothing is stopped; for tests of what has sessions only. */
  constructor(private readonly clock: Clock, private readonly options?: SessionsOptions) {}

  /** A session without a heartbeat for this long is over. Milliseconds. */
  get heartbeatWindowMs(): number {
    return this.#heartbeatWindowMs;
  }
  set heartbeatWindowMs(ms: number) {
    this.#heartbeatWindowMs = ms;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#arm();
  }

  readonly interceptor: Interceptor = {
    before: (call) => this.#enter(call),
    after: (call, outcome) => this.#leave(call, outcome),
  };

  /**
   * Starts a session, or continues with `resume` when that one is the owner's and still alive.
   *
   * @returns its id.
   * @throws {ConnectError} RESOURCE_EXHAUSTED
   */
  start(owner: string, resume: string, identity?: Identity): string {
    this.#endSilent();
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
    this.#sessions.set(id, { id, owner, identity, lastSeenMs: this.clock.monotonicMs() });
    this.#arm();
    return id;
  }

  /** @throws {ConnectError} INVALID_ARGUMENT `SESSION_EXPIRED`, the text that clients look for. */
  heartbeat(owner: string, id: string): void {
    this.#beat(owner, id);
  }

  /** Ids of the sessions that are alive. */
  list(): string[] {
    this.#endSilent();
    return [...this.#sessions.keys()];
  }

  used(call: MonitoredCall, resource: string): void {
    if (!isMonitored(call.method)) return;
    const session = call.values.get(sessionKey);
    if (session) {
      // It may have fallen silent while the call was on its way here.
      if (this.#sessions.get(session.id) !== session) throw expired();
      this.#moved.set(resource, session);
      call.responseHeader.set(RESOURCE_HEADER, resource);
      return;
    }
    const from = this.#moved.get(resource);
    if (from) call.values.set(takenOverKey, { resource, from });
  }

  /** Ends the sessions of callers that are no longer let in, and stops what they moved. */
  endUnless(letIn: (owner: Identity | undefined) => boolean): void {
    for (const session of this.#sessions.values()) {
      if (letIn(session.identity)) continue;
      this.#sessions.delete(session.id);
      this.#stopWhatMoved(session, "a session was closed: its caller is no longer authorized");
    }
  }

  /** Ends all sessions and stops nothing: the resources are closed after it. */
  close(): void {
    this.#sessions.clear();
    this.#moved.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Every call of a session is a heartbeat of it. */
  #enter(call: Call): void {
    const id = call.header(SESSION_HEADER);
    if (!id || WITHOUT_SESSION.has(call.path)) return;
    const session = this.#beat(call.values.get(identityKey)?.entity ?? "", id);
    if (isMonitored(call.method)) call.values.set(sessionKey, session);
  }

  /** Who moves something without a session wants it to continue without heartbeats. */
  #leave(call: Call, outcome: CallOutcome): void {
    if (outcome.code !== undefined || !isMonitored(call.method)) return;
    const taken = call.values.get(takenOverKey);
    if (taken && this.#moved.get(taken.resource) === taken.from) this.#moved.delete(taken.resource);
  }

  #beat(owner: string, id: string): Session {
    const session = this.#sessions.get(id);
    if (session?.owner !== owner) throw expired();
    const nowMs = this.clock.monotonicMs();
    if (nowMs - session.lastSeenMs >= this.#heartbeatWindowMs) {
      this.#endSilent();
      throw expired();
    }
    session.lastSeenMs = nowMs;
    return session;
  }

  #endSilent(): void {
    const latestMs = this.clock.monotonicMs() - this.#heartbeatWindowMs;
    for (const session of this.#sessions.values()) {
      if (session.lastSeenMs > latestMs) continue;
      this.#sessions.delete(session.id);
      this.#stopWhatMoved(session, "a session expired without a heartbeat");
    }
  }

  #stopWhatMoved(session: Session, why: string): void {
    const resources = [...this.#moved].filter(([, by]) => by === session).map(([name]) => name);
    if (resources.length === 0) return;
    for (const resource of resources) this.#moved.delete(resource);
    this.options?.log.warn(`${why}; what it moved is stopped`, {
      event: "session_stopped",
      ...(session.owner && { entity: session.owner }),
      resources,
    });
    for (const resource of resources) void this.#stop(resource);
  }

  async #stop(resource: string): Promise<void> {
    const { clock, options } = this;
    if (!options) return;
    try {
      const stop = async (signal: AbortSignal) => await options.stop(resource, signal);
      await withDeadline(stop, { clock, deadlineMs: STOP_TIMEOUT_MS, what: "the stop" });
    } catch (error) {
      options.log.error(`${resource} could not be stopped: ${toError(error).message}`, {
        event: "motion_not_stopped",
      });
    }
  }

  /** One timer for all: at the earliest moment at which a session may be over. */
  #arm(): void {
    if (this.#timer || this.#sessions.size === 0) return;
    let earliestMs = Infinity;
    for (const { lastSeenMs } of this.#sessions.values()) {
      earliestMs = Math.min(earliestMs, lastSeenMs);
    }
    const leftMs = earliestMs + this.#heartbeatWindowMs - this.clock.monotonicMs();
    this.#timer = this.clock.setTimer(Math.max(1, leftMs), () => {
      this.#timer = undefined;
      this.#endSilent();
      this.#arm();
    });
  }
}

function expired(): ConnectError {
  return new ConnectError("SESSION_EXPIRED", Code.InvalidArgument);
}
