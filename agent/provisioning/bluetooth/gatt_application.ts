import { Buffer } from "node:buffer";
import {
  type CallReply,
  DBusCallError,
  type ExportedObject,
  type IncomingCall,
  type SystemBus,
  type Variant,
  variant,
} from "../../dbus/system_bus.ts";
import {
  APPLICATION_PATH,
  GATT_CHARACTERISTIC,
  GATT_SERVICE,
  OBJECT_MANAGER,
  PROPERTIES,
  SERVICE_PATH,
} from "./gatt_names.ts";
import { READ, type ReadName, uuidOf, WRITTEN, type WrittenName } from "./identifiers.ts";
import { LongValues } from "./long_values.ts";
import { SEALED_BYTES, SealError } from "./sealed_values.ts";
import { ValueError } from "./written_values.ts";

/** What stands behind the characteristics. */
export interface GattValues {
  read(name: ReadName): Uint8Array;
  /** @throws {SealError} or {ValueError}: the phone gets an ATT error. */
  write(name: WrittenName, sealed: Uint8Array, device: string): Promise<void>;
}

export interface GattApplicationOptions {
  readonly bus: SystemBus;
  readonly service: string;
  readonly values: GattValues;
  /** Unique name of BlueZ on the bus; nobody else is answered. */
  readonly bluez: string;
}

type Properties = Record<string, Variant>;

interface Characteristic {
  readonly path: string;
  readonly name: ReadName | WrittenName;
  readonly flags: readonly string[];
}

/** Writes that wait for the one before; a phone sends the next one after the answer. */
const MOST_WAITING = 8;
const CHARACTERISTICS: readonly Characteristic[] = [
  ...WRITTEN.map((name) => ({ name, flags: ["write", "write-without-response"] })),
  ...READ.map((name) => ({ name, flags: ["read", "notify"] })),
].map((characteristic, n) => ({ ...characteristic, path: `${SERVICE_PATH}/char${n}` }));

/** The service and its characteristics as objects on the bus, for BlueZ to serve them. */
export class GattApplication implements Disposable {
  readonly #removals: (() => void)[] = [];
  readonly #notified = new Map<string, string>();
  readonly #long = new LongValues();
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(private readonly options: GattApplicationOptions) {
    const { bus } = options;
    const put = (path: string, answer: ExportedObject["call"]) => {
      const call = (call: IncomingCall) => {
        if (call.sender !== options.bluez) {
          throw refused("NotAuthorized", "only BlueZ may call this");
        }
        return answer(call);
      };
      this.#removals.push(bus.export(path, { call }));
    };
    put(APPLICATION_PATH, (call) => this.#root(call));
    put(SERVICE_PATH, (call) => answerProperties(call, GATT_SERVICE, this.#service()));
    for (const one of CHARACTERISTICS) put(one.path, (call) => this.#characteristic(one, call));
  }

  /** Notifies phones that subscribed of what has changed. */
  notifyChanges(): void {
    for (const [path, last] of this.#notified) {
      const found = CHARACTERISTICS.find((one) => one.path === path);
      const value = this.options.values.read(found!.name as ReadName);
      if (value.toHex() === last) continue;
      this.#notified.set(path, value.toHex());
      this.options.bus.emit({
        path,
        interface: PROPERTIES,
        member: "PropertiesChanged",
        signature: "sa{sv}as",
        body: [GATT_CHARACTERISTIC, { Value: variant("ay", Buffer.from(value)) }, []],
      });
    }
  }

  [Symbol.dispose](): void {
    for (const remove of this.#removals) remove();
    this.#notified.clear();
  }

  #root({ member, interface: iface }: IncomingCall): CallReply | undefined {
    if (member !== "GetManagedObjects" || iface !== OBJECT_MANAGER) return undefined;
    const objects: Record<string, Record<string, Properties>> = {
      [SERVICE_PATH]: { [GATT_SERVICE]: this.#service() },
    };
    for (const one of CHARACTERISTICS) {
      objects[one.path] = { [GATT_CHARACTERISTIC]: this.#propertiesOf(one) };
    }
    return { signature: "a{oa{sa{sv}}}", body: [objects] };
  }

  #service(): Properties {
    return { UUID: variant("s", this.options.service), Primary: variant("b", true) };
  }

  #propertiesOf({ name, flags, path }: Characteristic): Properties {
    return {
      UUID: variant("s", uuidOf(name)),
      Service: variant("o", SERVICE_PATH),
      Flags: variant("as", flags),
      Notifying: variant("b", this.#notified.has(path)),
    };
  }

  #characteristic(one: Characteristic, call: IncomingCall) {
    if (call.interface === PROPERTIES) {
      return answerProperties(call, GATT_CHARACTERISTIC, this.#propertiesOf(one));
    }
    if (call.interface !== GATT_CHARACTERISTIC) return undefined;
    const isRead = one.flags.includes("read");
    switch (call.member) {
      case "ReadValue":
        return isRead ? this.#read(one, call) : deny();
      case "WriteValue":
        return isRead ? deny() : this.#write(one, call);
      case "StartNotify":
        if (!isRead) return deny();
        this.#notified.set(one.path, this.options.values.read(one.name as ReadName).toHex());
        return {};
      case "StopNotify":
        this.#notified.delete(one.path);
        return {};
    }
    return undefined;
  }

  #read({ name, path }: Characteristic, call: IncomingCall): CallReply {
    const { device, offset } = optionsOf(call.body[0]);
    const value = this.#long.reading(
      `${device} ${path}`,
      offset,
      () => this.options.values.read(name as ReadName),
    );
    if (offset > value.length) throw refused("InvalidOffset", "behind the end of the value");
    return { signature: "ay", body: [Buffer.from(value.subarray(offset))] };
  }

  async #write({ name, path }: Characteristic, call: IncomingCall): Promise<CallReply> {
    const [bytes] = call.body;
    if (!(bytes instanceof Uint8Array)) throw refused("Failed", "no bytes");
    const { device, offset, isAsking, isLong } = optionsOf(call.body[1]);
    if (isAsking) return {};
    const value = this.#long.written(`${device} ${path}`, offset, bytes);
    if (value === "gap") throw refused("InvalidOffset", "not at the end of the last chunk");
    if (value === "too-long") throw refused("InvalidValueLength", "longer than a sealed value");
    // Older ones bring the pieces of a long value one by one.
    if (isLong && value.length < SEALED_BYTES) return {};
    if (this.#waiting >= MOST_WAITING) throw refused("InProgress", "other values are waiting");
    this.#waiting++;
    // One after the other, in the order in which they were written.
    const turn = this.#turn.then(() =>
      this.options.values.write(name as WrittenName, value, device)
    );
    this.#turn = turn.catch(() => undefined);
    try {
      await turn;
    } catch (error) {
      throw attError(error);
    } finally {
      this.#waiting--;
    }
    return {};
  }
}

/** Properties.Get and GetAll of an object with one interface. */
export function answerProperties(
  { interface: iface, member, body }: IncomingCall,
  name: string,
  properties: Properties,
): CallReply | undefined {
  if (iface !== PROPERTIES || body[0] !== name) return undefined;
  if (member === "GetAll") return { signature: "a{sv}", body: [properties] };
  const value = member === "Get" ? properties[String(body[1])] : undefined;
  return value && { signature: "v", body: [value] };
}

/** The options of ReadValue and WriteValue. */
function optionsOf(options: unknown) {
  const value = (name: string) => (options as Properties | undefined)?.[name]?.value;
  return {
    device: String(value("device") ?? ""),
    offset: Number(value("offset") ?? 0),
    isAsking: value("prepare-authorize") === true,
    isLong: value("type") === "reliable",
  };
}

function attError(error: unknown): unknown {
  if (error instanceof SealError) {
    return error.kind === "length"
      ? refused("InvalidValueLength", error.message)
      : refused("NotAuthorized", error.message);
  }
  return error instanceof ValueError ? refused("Failed", error.message) : error;
}

/** BlueZ makes an ATT error of it. */
function refused(name: string, message: string): DBusCallError {
  return new DBusCallError(`org.bluez.Error.${name}`, message);
}

function deny(): never {
  throw refused("NotPermitted", "this characteristic cannot do that");
}
