/** Who calls and who answers, brought together; knows nothing of transports. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../base/time/clock.ts";
import type { IceCandidate } from "../webrtc/peer.ts";
import type {
  AnswererSide,
  CallerSide,
  CallUpdate,
  Offer,
  PlacedCall,
  WaitingAnswerer,
} from "./call_sides.ts";
import { type CallQueueLimits, DEFAULT_LIMITS } from "./limits.ts";
import { QueuedCall } from "./queued_call.ts";
import { machineWentAway, signalerCloses, tooManyCalls } from "./signaling_errors.ts";

export interface CallQueueOptions {
  readonly clock: Clock;
  /** A fresh identifier for a call. */
  readonly uuid: () => string;
  readonly limits?: Partial<CallQueueLimits>;
  /** Whether somebody answers for a host whom this queue does not know. Left out: nobody does. */
  readonly isAnsweredElsewhere?: (name: string) => boolean;
}

/** What a signaller asks of its calls; see {@link CallQueue}. */
export interface Calls {
  call(name: string, offer: Offer, side: CallerSide): PlacedCall;
  update(name: string, uuid: string, owner: string, update: CallUpdate): void | Promise<void>;
  answer(names: readonly string[], side: AnswererSide): WaitingAnswerer;
}

interface Host {
  /** Oldest first. */
  readonly waitingCalls: Set<QueuedCall>;
  /** Oldest first, those that have a call among them. */
  readonly answerers: Set<Answerer>;
}

/**
 * Calls and answerers of all hosts of one signaller, in memory. Everything happens at once: what
 * one side sends is delivered to the other before the method returns.
 */
export class CallQueue implements Calls {
  readonly #clock: Clock;
  readonly #uuid: () => string;
  readonly #limits: CallQueueLimits;
  readonly #isAnsweredElsewhere: (name: string) => boolean;
  readonly #hosts = new Map<string, Host>();
  readonly #calls = new Map<string, QueuedCall>();
  /** Calls of each caller that have not ended. */
  readonly #ofCaller = new Map<string, number>();
  #closed = false;

  constructor(
    { clock, uuid, limits, isAnsweredElsewhere = () => false }: CallQueueOptions,
  ) {
    this.#clock = clock;
    this.#uuid = uuid;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#isAnsweredElsewhere = isAnsweredElsewhere;
  }

  /** Calls that have not ended. */
  get callCount(): number {
    return this.#calls.size;
  }

  /** Hosts that are called, or that somebody answers for. */
  get hostCount(): number {
    return this.#hosts.size;
  }

  /** Whether a call of this queue has not ended. */
  has(uuid: string): boolean {
    return this.#calls.has(uuid);
  }

  /** Whether calls to a host wait for somebody who takes them. */
  isWaitedFor(name: string): boolean {
    return (this.#hosts.get(name)?.waitingCalls.size ?? 0) > 0;
  }

  /** Whether somebody answers for a host: `free` to take a call, or `busy` with one. */
  answererOf(name: string): "free" | "busy" | undefined {
    const answerers = [...this.#hosts.get(name)?.answerers ?? []];
    if (answerers.some(({ isFree }) => isFree)) return "free";
    return answerers.length > 0 ? "busy" : undefined;
  }

  /**
   * @param uuid what it is called by; left out: a fresh one
   * @throws {ConnectError} UNAVAILABLE when too many wait already, and after {@link close}.
   */
  call(name: string, offer: Offer, side: CallerSide, uuid = this.#uuid()): PlacedCall {
    if (this.#closed) throw signalerCloses();
    const waiting = this.#hosts.get(name)?.waitingCalls.size ?? 0;
    const { owner } = offer.caller;
    const own = this.#ofCaller.get(owner) ?? 0;
    const { waitingCalls, callerCalls, calls } = this.#limits;
    if (waiting >= waitingCalls || own >= callerCalls || this.#calls.size >= calls) {
      throw tooManyCalls();
    }
    const call = new QueuedCall({
      uuid,
      host: name,
      offer,
      side,
      clock: this.#clock,
      limits: this.#limits,
      removed: () => this.#forget(call),
      hasAnswerers: () => this.answererOf(name) !== undefined || this.#isAnsweredElsewhere(name),
    });
    this.#calls.set(call.uuid, call);
    this.#ofCaller.set(owner, own + 1);
    this.#host(name).waitingCalls.add(call);
    this.#match(name);
    return call;
  }

  /**
   * A caller sends more about a call.
   *
   * @throws {ConnectError} NOT_FOUND when this caller has no such call for this host (any more);
   * RESOURCE_EXHAUSTED or INVALID_ARGUMENT when a candidate is one too many or too long.
   */
  update(name: string, uuid: string, owner: string, update: CallUpdate): void {
    const call = this.#calls.get(uuid);
    if (call?.host !== name || call.offer.caller.owner !== owner) {
      throw new ConnectError(`no call with uuid ${JSON.stringify(uuid)}`, Code.NotFound);
    }
    call.update(update);
  }

  /**
   * Waits for one call to any of the hosts `names`.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED when too many answer for one of them and all have a
   * call; UNAVAILABLE after {@link close}.
   */
  answer(names: readonly string[], side: AnswererSide): WaitingAnswerer {
    if (this.#closed) throw signalerCloses();
    const answerer = new Answerer(names, side, (orphan) => this.#left(answerer, orphan));
    for (const name of answerer.hosts) this.#makeRoom(name);
    for (const name of answerer.hosts) this.#host(name).answerers.add(answerer);
    for (const name of answerer.hosts) this.#match(name);
    return answerer;
  }

  /** Ends everything with UNAVAILABLE. */
  close(): void {
    this.#closed = true;
    for (const call of [...this.#calls.values()]) call.fail(signalerCloses());
    for (const { answerers } of [...this.#hosts.values()]) {
      for (const answerer of [...answerers]) answerer.end(signalerCloses());
    }
  }

  /**
   * Gives calls to answerers. The newest answerer is queried first: the connection of an older one
   * may have died without anybody noticing.
   */
  #match(name: string): void {
    for (;;) {
      const host = this.#hosts.get(name);
      const [call] = host?.waitingCalls ?? [];
      const answerer = [...host?.answerers ?? []].findLast(({ isFree }) => isFree);
      if (!call || !answerer) return;
      host?.waitingCalls.delete(call);
      answerer.take(call);
    }
  }

  /** A machine that lost its connection comes back before its old streams are known to be dead. */
  #makeRoom(name: string): void {
    const { answerers } = this.#hosts.get(name) ?? {};
    if (!answerers || answerers.size < this.#limits.answerers) return;
    const oldest = [...answerers].find(({ isFree }) => isFree);
    const problem = `more than ${this.#limits.answerers} streams answer for this host`;
    if (!oldest) throw new ConnectError(problem, Code.ResourceExhausted);
    oldest.end(new ConnectError(`${problem}; this is the oldest`, Code.Aborted));
  }

  /** An answerer has ended; `orphan` is the call that it had taken and not answered. */
  #left(answerer: Answerer, orphan: QueuedCall | undefined): void {
    for (const name of answerer.hosts) {
      this.#hosts.get(name)?.answerers.delete(answerer);
      this.#tidy(name);
    }
    if (!orphan) return;
    const others = [...this.#hosts.get(orphan.host)?.answerers ?? []];
    const next = others.findLast(({ isFree }) => isFree);
    if (next && orphan.mayBeHandedOn) next.take(orphan);
    else orphan.fail(machineWentAway());
  }

  #forget(call: QueuedCall): void {
    this.#calls.delete(call.uuid);
    const { owner } = call.offer.caller;
    const left = (this.#ofCaller.get(owner) ?? 0) - 1;
    if (left > 0) this.#ofCaller.set(owner, left);
    else this.#ofCaller.delete(owner);
    this.#hosts.get(call.host)?.waitingCalls.delete(call);
    this.#tidy(call.host);
  }

  #host(name: string): Host {
    const known = this.#hosts.get(name);
    if (known) return known;
    const host: Host = { waitingCalls: new Set(), answerers: new Set() };
    this.#hosts.set(name, host);
    return host;
  }

  #tidy(name: string): void {
    const host = this.#hosts.get(name);
    if (host?.waitingCalls.size === 0 && host.answerers.size === 0) this.#hosts.delete(name);
  }
}

/** One stream of a machine: it waits, takes one call, ends. */
class Answerer implements WaitingAnswerer {
  readonly hosts: ReadonlySet<string>;
  #call: QueuedCall | undefined;
  #ended = false;

  constructor(
    hosts: readonly string[],
    private readonly side: AnswererSide,
    private readonly left: (orphan: QueuedCall | undefined) => void,
  ) {
    this.hosts = new Set(hosts);
  }

  get isFree(): boolean {
    return !this.#ended && this.#call === undefined;
  }

  take(call: QueuedCall): void {
    this.#call = call;
    this.side.offered(call.uuid, call.offer, call.deadline);
    call.given({
      candidate: (candidate) => this.side.candidate(candidate),
      done: () => this.side.done(),
      ended: (error) => this.end(error),
    });
  }

  answer(sdp: string): void {
    if (!this.#ended) this.#taken().answered(sdp);
  }

  candidate(candidate: IceCandidate): void {
    if (!this.#ended) this.#taken().answererCandidate(candidate);
  }

  done(): void {
    if (!this.#ended) this.#taken().answererDone();
  }

  fail(error: ConnectError): void {
    if (this.#ended) return;
    if (this.#call) this.#call.answererFailed(error);
    else this.end(error);
  }

  leave(): void {
    this.end(machineWentAway());
  }

  end(error: ConnectError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    const call = this.#call;
    const orphan = call?.isUnanswered ? call : undefined;
    this.left(orphan);
    if (!orphan) call?.answererLeft();
    this.side.ended(error);
  }

  #taken(): QueuedCall {
    if (this.#call) return this.#call;
    throw new ConnectError("there is no call to answer yet", Code.FailedPrecondition);
  }
}
