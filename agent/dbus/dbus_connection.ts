import type { EventEmitter } from "node:events";
import * as dbus from "@jellybrick/dbus-next";
import type { Clock } from "../../shared/base/time/clock.ts";
import { matches, matchRule } from "./match_rule.ts";
import {
  DBusCallError,
  DBusClosed,
  DBusTimeout,
  type ExportedObject,
  type MethodCall,
  type Signal,
  type SignalMatch,
  type SystemBus,
  type Variant,
} from "./system_bus.ts";

const DEFAULT_ADDRESS = "unix:path=/run/dbus/system_bus_socket";
const CALL_TIMEOUT_MS = 25_000;
const CONNECT_TIMEOUT_MS = 5_000;
const UNKNOWN_METHOD = "org.freedesktop.DBus.Error.UnknownMethod";
const FAILED = "org.freedesktop.DBus.Error.Failed";

export interface ConnectOptions {
  readonly clock: Clock;
  /** Default: `DBUS_SYSTEM_BUS_ADDRESS`, else the system bus of every Linux. */
  readonly address?: string;
}

/**
 * Connects to a message bus.
 *
 * @throws {DBusClosed} when there is none, or it does not let us in within 5 s.
 */
export async function connectSystemBus({ clock, address }: ConnectOptions): Promise<SystemBus> {
  const busAddress = address ?? Deno.env.get("DBUS_SYSTEM_BUS_ADDRESS") ?? DEFAULT_ADDRESS;
  const bus = dbus.sessionBus({ busAddress });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: unknown) =>
    reject(new DBusClosed(`cannot connect to the message bus at ${busAddress}`, { cause: error }));
  bus.once("connect", resolve);
  bus.on("error" as "connect", fail as () => void);
  const timer = clock.setTimer(CONNECT_TIMEOUT_MS, () => fail(new Error("no answer within 5 s")));
  try {
    await promise;
  } catch (error) {
    bus.disconnect();
    throw error;
  } finally {
    timer.cancel();
  }
  return new DBusConnection(bus, clock);
}

interface Subscription {
  readonly match: SignalMatch;
  readonly run: (signal: Signal) => void;
}

class DBusConnection implements SystemBus {
  readonly closed: Promise<void>;
  readonly #bus: dbus.MessageBus;
  readonly #clock: Clock;
  readonly #subscriptions = new Set<Subscription>();
  readonly #objects = new Map<string, ExportedObject>();
  readonly #pending = new Set<(error: Error) => void>();
  readonly #end: () => void;
  #ended = false;

  constructor(bus: dbus.MessageBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#end = () => {
      if (this.#ended) return;
      this.#ended = true;
      for (const reject of this.#pending) reject(closedError());
      this.#pending.clear();
      this.#subscriptions.clear();
      this.#objects.clear();
      resolve();
    };
    // The library reports the end of a connection to nobody outside it.
    (bus as unknown as { _connection: EventEmitter })._connection.on("end", this.#end);
    bus.on("error" as "connect", this.#end);
    bus.on("message", (message) => this.#onMessage(message));
    bus.addMethodHandler((message) => this.#onCall(message));
  }

  get uniqueName(): string {
    return this.#bus.name ?? "";
  }

  call(call: MethodCall): Promise<unknown[]> {
    if (this.#ended) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      const settle = (done: () => void) => {
        timer.cancel();
        this.#pending.delete(onClosed);
        done();
      };
      const onClosed = (error: Error) => settle(() => reject(error));
      const what = `${call.destination} ${call.member}`;
      const ms = call.timeoutMs ?? CALL_TIMEOUT_MS;
      const timer = this.#clock.setTimer(
        ms,
        () => settle(() => reject(new DBusTimeout(`${what} did not answer within ${ms} ms`))),
      );
      this.#pending.add(onClosed);
      try {
        this.#bus.call(toMessage(call)).then(
          (reply) => settle(() => resolve(reply?.body ?? [])),
          (error: unknown) => settle(() => reject(callError(what, error))),
        );
      } catch (error) {
        settle(() => reject(callError(what, error)));
      }
    });
  }

  async subscribe(
    match: SignalMatch,
    run: (signal: Signal) => void,
  ): Promise<() => Promise<void>> {
    const rule = matchRule(match);
    const subscription = { match, run };
    // Before AddMatch: nothing that comes right after its answer may be missed.
    this.#subscriptions.add(subscription);
    try {
      await this.#matchCall("AddMatch", rule);
    } catch (error) {
      this.#subscriptions.delete(subscription);
      throw error;
    }
    return async () => {
      if (!this.#subscriptions.delete(subscription)) return;
      await this.#matchCall("RemoveMatch", rule).catch((error: unknown) => {
        // With the connection all its match rules are gone.
        if (!(error instanceof DBusClosed)) throw error;
      });
    };
  }

  export(path: string, object: ExportedObject): () => void {
    if (this.#objects.has(path)) throw new Error(`there is a D-Bus object at ${path} already`);
    this.#objects.set(path, object);
    return () => {
      if (this.#objects.get(path) === object) this.#objects.delete(path);
    };
  }

  emit(signal: Omit<Signal, "sender"> & { readonly signature?: string }): void {
    if (this.#ended) return;
    const { path, member, signature = "", body } = signal;
    this.#bus.send(dbus.Message.newSignal(path, signal.interface, member, signature, toWire(body)));
  }

  close(): void {
    if (this.#ended) return;
    this.#bus.disconnect();
    this.#end();
  }

  #matchCall(member: string, rule: string): Promise<unknown[]> {
    return this.call({
      destination: "org.freedesktop.DBus",
      path: "/org/freedesktop/DBus",
      interface: "org.freedesktop.DBus",
      member,
      signature: "s",
      body: [rule],
    });
  }

  #onMessage(message: dbus.Message): void {
    if (message.type !== dbus.MessageType.SIGNAL || this.#ended) return;
    const { sender, path, member, body } = message;
    const signal = { sender, path, interface: message.interface, member, body };
    for (const { match, run } of [...this.#subscriptions]) {
      if (matches(match, signal)) run(signal);
    }
  }

  #onCall(message: dbus.Message): boolean {
    const object = this.#objects.get(message.path);
    if (object === undefined) return false;
    const { sender, path, member, signature, body } = message;
    void this.#answer(message, async () => {
      const iface = message.interface;
      return await object.call({ sender, path, interface: iface, member, signature, body });
    });
    return true;
  }

  async #answer(
    message: dbus.Message,
    run: () => Promise<{ signature?: string; body?: readonly unknown[] } | undefined>,
  ): Promise<void> {
    let reply: dbus.Message;
    try {
      const answer = await run();
      reply = answer === undefined
        ? dbus.Message.newError(message, UNKNOWN_METHOD, `there is no method ${message.member}`)
        : dbus.Message.newMethodReturn(message, answer.signature ?? "", toWire(answer.body ?? []));
    } catch (error) {
      const { errorName, text } = error instanceof DBusCallError
        ? { errorName: error.errorName, text: error.message }
        : { errorName: FAILED, text: "internal error" };
      reply = dbus.Message.newError(message, errorName, text);
    }
    if (this.#ended || (message.flags & dbus.MessageFlag.NO_REPLY_EXPECTED) !== 0) return;
    this.#bus.send(reply);
  }
}

const closedError = () => new DBusClosed("the connection to the message bus was closed");

function callError(what: string, error: unknown): Error {
  if (error instanceof dbus.DBusError) {
    return new DBusCallError(error.type, error.text || error.type, { cause: error });
  }
  return new DBusClosed(`${what} could not be sent`, { cause: error });
}

function toMessage(call: MethodCall): dbus.Message {
  const { destination, path, member, signature = "", body = [] } = call;
  return new dbus.Message({
    destination,
    path,
    interface: call.interface,
    member,
    signature,
    body: toWire(body),
  });
}

/** The library knows variants by its own class. */
function toWire(values: readonly unknown[]): unknown[] {
  return values.map(wireValue);
}

function wireValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wireValue);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (isVariant(value)) return new dbus.Variant(value.signature, wireValue(value.value));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, wireValue(inner)]));
}

function isVariant(value: object): value is Variant {
  return value instanceof dbus.Variant ||
    (Object.keys(value).length === 2 && "signature" in value && "value" in value &&
      typeof value.signature === "string");
}
