import { createHash } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { CallQueue, type Calls } from "../../../shared/rtc/signaling/call_queue.ts";
import type {
  AnswererSide,
  CallerSide,
  CallUpdate,
  Offer,
  PlacedCall,
  WaitingAnswerer,
} from "../../../shared/rtc/signaling/call_sides.ts";
import type { NodeMessage } from "../../nodes/node_bus.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import {
  readMessage,
  receivedError,
  receivedUpdate,
  sentError,
  sentUpdate,
  SIGNALING_TOPIC,
  type SignalingMessage,
} from "./node_messages.ts";

export interface SharedCallsOptions {
  readonly nodes: Nodes;
  readonly clock: Clock;
  readonly uuid: () => string;
  readonly log: Pick<Logger, "warn">;
}

/** How long a call is remembered that another node has: as long as calls live. */
const WANTED_MS = 10_000;
/** Hosts that others have calls for, or answer for; more than calls may wait. */
const MOST_REMEMBERED = 8_192;
/** How long another node may take to say what became of an update. */
const UPDATE_MS = 5_000;

/** An attempt of this node's call with a machine that is at another node. */
interface Lent {
  readonly node: string;
  readonly answerer: WaitingAnswerer;
}

/** A call of another node, for a machine that is at this one. */
interface Borrowed {
  readonly node: string;
  readonly host: string;
  readonly uuid: string;
  readonly owner: string;
}

/**
 * The calls of all nodes that serve together. A call stays with the node that its caller reached;
 * where the machine is at another node, that one has a call of its own under the same uuid, and
 * both pass on what is said. A node that is alone sends nothing.
 */
export class SharedCalls implements Calls {
  readonly #queue: CallQueue;
  readonly #lent = new Map<string, Lent>();
  readonly #borrowed = new Map<string, Borrowed>();
  /** Nodes with a call that waits for somebody here, by host. */
  readonly #wanted: Remembered;
  /** Nodes where somebody answers for a host and has a call, by host. */
  readonly #busy: Remembered;
  readonly #updates = new Map<string, (error: ConnectError | undefined) => void>();
  readonly #subscriptions: readonly Disposable[];

  constructor(private readonly options: SharedCallsOptions) {
    const { nodes, clock } = options;
    this.#wanted = new Remembered(clock);
    this.#busy = new Remembered(clock);
    this.#queue = new CallQueue({
      clock,
      uuid: () => uuidOf(options.uuid(), nodes.id),
      isAnsweredElsewhere: (host) => this.#busy.of(host).length > 0,
    });
    this.#subscriptions = [
      nodes.bus.subscribe(SIGNALING_TOPIC, (message) => this.#receive(message)),
      nodes.listen(({ id, kind }) => {
        if (kind === "left" || kind === "died") this.#lose(id);
        else if (kind === "back") this.#lose(undefined);
      }),
    ];
  }

  call(host: string, offer: Offer, side: CallerSide): PlacedCall {
    const call = this.#queue.call(host, offer, side);
    if (this.#queue.isWaitedFor(host) && this.#hasOthers) this.#send({ kind: "wanted", host });
    return call;
  }

  /** @throws {ConnectError} as {@link CallQueue.update}, wherever the call is */
  async update(host: string, uuid: string, owner: string, update: CallUpdate): Promise<void> {
    const { nodes, clock } = this.options;
    const home = nodes.members().find(({ id }) => isOfNode(uuid, id))?.id ?? nodes.id;
    if (home === nodes.id) return this.#queue.update(host, uuid, owner, update);
    const id = this.options.uuid();
    const { promise, resolve } = Promise.withResolvers<ConnectError | undefined>();
    this.#updates.set(id, resolve);
    const late = () => resolve(new ConnectError("the node of the call is busy", Code.Unavailable));
    const timer = clock.setTimer(UPDATE_MS, late);
    try {
      this.#send({ kind: "update", id, host, uuid, owner, update: sentUpdate(update) }, home);
      const error = await promise;
      if (error) throw error;
    } finally {
      timer.cancel();
      this.#updates.delete(id);
    }
  }

  answer(hosts: readonly string[], side: AnswererSide): WaitingAnswerer {
    const answerer = this.#queue.answer(hosts, side);
    for (const host of hosts) {
      if (this.#queue.answererOf(host) !== "free") continue;
      for (const node of this.#wanted.take(host)) this.#send({ kind: "ready", host }, node);
    }
    return answerer;
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
    this.#queue.close();
  }

  get #hasOthers(): boolean {
    return this.options.nodes.members().length > 1;
  }

  #receive({ from, payload }: NodeMessage): void {
    if (from === this.options.nodes.id) return;
    const message = readMessage(payload);
    switch (message.kind) {
      case "wanted":
        return this.#onWanted(message.host, from);
      case "ready":
        return this.#lend(message.host, from);
      case "busy":
        return this.#busy.add(message.host, from);
      case "offer":
        return this.#borrow(message, from);
      case "answer":
        return this.#ofLent(message.id, ({ answerer }) => answerer.answer(message.sdp));
      case "toCaller":
        return this.#ofLent(message.id, ({ answerer }) => {
          const update = receivedUpdate(message.update);
          if (update.kind === "candidate") answerer.candidate(update.candidate);
          else if (update.kind === "done") answerer.done();
          else if (isGone(update.error)) answerer.leave();
          else answerer.fail(update.error);
        });
      case "toMachine":
        return this.#tellMachine(message.id, receivedUpdate(message.update));
      case "over":
        return this.#onOver(message);
      case "update":
        return this.#onUpdate(message, from);
      case "updated":
        return this.#updates.get(message.id)?.(message.error && receivedError(message.error));
    }
  }

  /** Another node has a call for a host. */
  #onWanted(host: string, node: string): void {
    const state = this.#queue.answererOf(host);
    if (state === "free") return this.#send({ kind: "ready", host }, node);
    if (state === "busy") this.#send({ kind: "busy", host }, node);
    this.#wanted.add(host, node);
  }

  /** Gives the call that waits longest to a node that has somebody for it. */
  #lend(host: string, node: string): void {
    if (!this.#queue.isWaitedFor(host)) return;
    const id = this.options.uuid();
    const answerer = this.#queue.answer([host], {
      offered: (uuid, offer) => this.#send({ kind: "offer", id, host, uuid, offer }, node),
      candidate: (candidate) =>
        this.#send({ kind: "toMachine", id, update: { kind: "candidate", candidate } }, node),
      done: () => this.#send({ kind: "toMachine", id, update: { kind: "done" } }, node),
      ended: (error) => {
        this.#lent.delete(id);
        this.#send({ kind: "over", id, ...(error && { error: sentError(error) }) }, node);
      },
    });
    this.#lent.set(id, { node, answerer });
    if (this.#queue.isWaitedFor(host)) this.#send({ kind: "wanted", host }, node);
  }

  #ofLent(id: string, act: (lent: Lent) => void): void {
    const lent = this.#lent.get(id);
    if (!lent) return;
    try {
      act(lent);
    } catch (error) {
      lent.answerer.fail(ConnectError.from(error));
    }
  }

  /** Takes a call of another node for a machine that is here. */
  #borrow(
    { id, host, uuid, offer }: Extract<SignalingMessage, { kind: "offer" }>,
    node: string,
  ): void {
    const toCaller = (update: CallUpdate) =>
      this.#send({ kind: "toCaller", id, update: sentUpdate(update) }, node);
    this.#borrowed.set(id, { node, host, uuid, owner: offer.caller.owner });
    try {
      this.#queue.call(host, offer, {
        answered: (sdp) => this.#send({ kind: "answer", id, sdp }, node),
        candidate: (candidate) => toCaller({ kind: "candidate", candidate }),
        ended: (error) => toCaller(error ? { kind: "error", error } : { kind: "done" }),
      }, uuid);
    } catch (error) {
      this.#borrowed.delete(id);
      toCaller({ kind: "error", error: ConnectError.from(error) });
    }
  }

  #tellMachine(id: string, update: CallUpdate): void {
    const call = this.#borrowed.get(id);
    if (!call) return;
    const { host, uuid, owner } = call;
    // It may have ended here, which its own node is notified of.
    if (this.#queue.has(uuid)) this.#queue.update(host, uuid, owner, update);
  }

  #onOver({ id, error }: Extract<SignalingMessage, { kind: "over" }>): void {
    if (error) this.#tellMachine(id, { kind: "error", error: receivedError(error) });
    this.#borrowed.delete(id);
  }

  #onUpdate(
    { id, host, uuid, owner, update }: Extract<SignalingMessage, { kind: "update" }>,
    node: string,
  ): void {
    try {
      this.#queue.update(host, uuid, owner, receivedUpdate(update));
      this.#send({ kind: "updated", id }, node);
    } catch (error) {
      this.#send({ kind: "updated", id, error: sentError(ConnectError.from(error)) }, node);
    }
  }

  /** A node is gone, or all others are not known any more: what they had to do with ends. */
  #lose(node: string | undefined): void {
    const isLost = (one: { readonly node: string }) => node === undefined || one.node === node;
    for (const { answerer } of [...this.#lent.values()].filter(isLost)) answerer.leave();
    for (const [id] of [...this.#borrowed].filter(([, each]) => isLost(each))) {
      const error = new ConnectError("the node of the caller is gone", Code.Unavailable);
      this.#tellMachine(id, { kind: "error", error });
      this.#borrowed.delete(id);
    }
  }

  /** What could not be sent ends where the call's deadline is exceeded. */
  #send(message: SignalingMessage, to?: string): void {
    const { nodes, log } = this.options;
    nodes.bus.publish(SIGNALING_TOPIC, JSON.stringify(message), to).catch((error: unknown) =>
      log.warn("cannot notify another node of a call", { error: String(error) })
    );
  }
}

/** Somebody else may take the call then. */
function isGone({ code }: ConnectError): boolean {
  return code === Code.Unavailable || code === Code.NotFound;
}

/** A uuid whose node part says which node has the call. */
function uuidOf(uuid: string, node: string): string {
  return uuid.slice(0, -12) + nodePart(node);
}

function isOfNode(uuid: string, node: string): boolean {
  return uuid.endsWith(nodePart(node));
}

function nodePart(node: string): string {
  return createHash("sha256").update(node).digest("hex").slice(0, 12);
}

/** Nodes by host, for as long as a call lives. */
class Remembered {
  /** Oldest first. */
  readonly #until = new Map<string, { readonly host: string; node: string; readonly ms: number }>();

  constructor(private readonly clock: Clock) {}

  add(host: string, node: string): void {
    const key = `${node} ${host}`;
    this.#until.delete(key);
    this.#until.set(key, { host, node, ms: this.clock.now().getTime() + WANTED_MS });
    this.#tidy();
  }

  of(host: string): string[] {
    this.#tidy();
    return [...this.#until.values()].filter((each) => each.host === host).map(({ node }) => node);
  }

  take(host: string): string[] {
    const nodes = this.of(host);
    for (const node of nodes) this.#until.delete(`${node} ${host}`);
    return nodes;
  }

  #tidy(): void {
    const now = this.clock.now().getTime();
    for (const [key, { ms }] of this.#until) {
      if (ms > now && this.#until.size <= MOST_REMEMBERED) break;
      this.#until.delete(key);
    }
  }
}
