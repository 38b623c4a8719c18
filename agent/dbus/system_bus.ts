/**
 * The part of D-Bus that the agent needs. Values are as D-Bus has them: integers up to 32 bits
 * are numbers, 64-bit ones bigints, `ay` is a Buffer, `a{..}` a plain object, variants are
 * {@link Variant}s.
 */

/** A value with its D-Bus signature, as in `a{sv}`. */
export interface Variant<T = unknown> {
  readonly signature: string;
  readonly value: T;
}

/** A variant to send. */
export function variant<T>(signature: string, value: T): Variant<T> {
  return { signature, value };
}

/** A method call to another program on the bus. */
export interface MethodCall {
  /** Bus name: "org.freedesktop.NetworkManager". */
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Signature of `body`; default none. */
  readonly signature?: string;
  readonly body?: readonly unknown[];
  /** Milliseconds until the call fails with {@link DBusTimeout}. Default 25,000, as libdbus. */
  readonly timeoutMs?: number;
}

/** Which signals are wanted; what is left out matches everything. */
export interface SignalMatch {
  readonly sender?: string;
  readonly path?: string;
  /** Every path below this one, and itself. */
  readonly pathNamespace?: string;
  readonly interface?: string;
  readonly member?: string;
  /** The first argument, when it is a string: the name in NameOwnerChanged. */
  readonly arg0?: string;
}

/** A signal that arrived. */
export interface Signal {
  /** The unique name of who sent it: ":1.42". */
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly body: readonly unknown[];
}

/** A call that another program makes to an object of ours. */
export interface IncomingCall {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature: string;
  readonly body: readonly unknown[];
}

/** What an object of ours answers. */
export interface CallReply {
  /** Default none. */
  readonly signature?: string;
  readonly body?: readonly unknown[];
}

/** An object of ours on the bus. */
export interface ExportedObject {
  /** `undefined`: no such method. A {@link DBusCallError} thrown goes to the caller as it is. */
  call(call: IncomingCall): CallReply | Promise<CallReply> | undefined;
}

/** A connection to a message bus. It is never opened again automatically: see {@link closed}. */
export interface SystemBus {
  /**
   * @returns the arguments of the answer.
   * @throws {DBusCallError} what the other program answered; {@link DBusTimeout} when it did not
   *   in time; {@link DBusClosed} when the connection ended.
   */
  call(call: MethodCall): Promise<unknown[]>;
  /**
   * From now on `run` gets the matching signals, in their order. It must not throw.
   *
   * @returns takes the subscription back, on the bus, too.
   */
  subscribe(match: SignalMatch, run: (signal: Signal) => void): Promise<() => Promise<void>>;
  /**
   * Puts an object on the bus.
   *
   * @returns takes it away again.
   * @throws {Error} where there is one at this path already.
   */
  export(path: string, object: ExportedObject): () => void;
  /** Sends a signal of an object of ours to everybody who subscribed. */
  emit(signal: Omit<Signal, "sender"> & { readonly signature?: string }): void;
  /** Our unique name on the bus: ":1.7". */
  readonly uniqueName: string;
  /** Resolves when the connection ended, by {@link close} or by the bus. Never rejects. */
  readonly closed: Promise<void>;
  close(): void;
}

/** What another program answered in place of a result. */
export class DBusCallError extends Error {
  override readonly name = "DBusCallError";
  /** @param errorName such as "org.freedesktop.DBus.Error.ServiceUnknown". */
  constructor(readonly errorName: string, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Nobody answered in time. The call may still be carried out. */
export class DBusTimeout extends Error {
  override readonly name = "DBusTimeout";
}

/** The connection to the bus has ended. */
export class DBusClosed extends Error {
  override readonly name = "DBusClosed";
}

const PROPERTIES = "org.freedesktop.DBus.Properties";

/** Reads one property of an object. Errors as {@link SystemBus.call}. */
export async function getProperty(
  bus: SystemBus,
  destination: string,
  path: string,
  iface: string,
  name: string,
): Promise<unknown> {
  const [answer] = await bus.call({
    destination,
    path,
    interface: PROPERTIES,
    member: "Get",
    signature: "ss",
    body: [iface, name],
  });
  return (answer as Variant | undefined)?.value;
}

/** Reads all properties of one interface of an object, without their variants. */
export async function getProperties(
  bus: SystemBus,
  destination: string,
  path: string,
  iface: string,
): Promise<Record<string, unknown>> {
  const [answer] = await bus.call({
    destination,
    path,
    interface: PROPERTIES,
    member: "GetAll",
    signature: "s",
    body: [iface],
  });
  return unwrapped(answer as Record<string, Variant>);
}

/** Sets one property of an object. */
export async function setProperty(
  bus: SystemBus,
  destination: string,
  path: string,
  iface: string,
  name: string,
  value: Variant,
): Promise<void> {
  await bus.call({
    destination,
    path,
    interface: PROPERTIES,
    member: "Set",
    signature: "ssv",
    body: [iface, name, value],
  });
}

/** An `a{sv}` without its variants, one level deep. */
export function unwrapped(values: Readonly<Record<string, Variant>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, { value }]) => [name, value]));
}
