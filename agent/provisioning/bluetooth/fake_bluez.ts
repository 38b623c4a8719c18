import { Buffer } from "node:buffer";
import {
  type CallReply,
  DBusCallError,
  type ExportedObject,
  type IncomingCall,
  type SystemBus,
  unwrapped,
  type Variant,
  variant,
} from "../../dbus/system_bus.ts";
import {
  ADAPTER,
  ADVERTISEMENT,
  ADVERTISING_MANAGER,
  AGENT,
  AGENT_MANAGER,
  BLUEZ,
  DEVICE,
  GATT_CHARACTERISTIC,
  GATT_MANAGER,
  OBJECT_MANAGER,
  PROPERTIES,
} from "./gatt_names.ts";

const HCI = "/org/bluez/hci0";
type Objects = Record<string, Record<string, Record<string, Variant>>>;

/** A phone as BlueZ names it. */
export const devicePath = (n: number) => `${HCI}/dev_00_00_00_00_00_0${n}`;

/**
 * BlueZ with one adapter, on a private bus, by its published D-Bus API. Tests are the phone: they
 * see the characteristics by UUID, as over the air.
 */
export class FakeBluez {
  adapters = true;
  canAdvertise = true;
  /** Turning the adapter on fails, as by rfkill. */
  isBlocked = false;
  /** Methods that are never answered. */
  readonly hangs = new Set<string>();
  readonly properties: Record<string, unknown> = {
    Powered: false,
    Alias: "rover",
    Name: "rover",
  };
  advertisement: Record<string, unknown> | undefined;
  /** What was set on devices: "/org/bluez/hci0/dev_… Trusted true". */
  readonly set: string[] = [];
  application: { sender: string; path: string } | undefined;
  agent: { sender: string; path: string; capability: string; isDefault: boolean } | undefined;
  readonly #characteristics = new Map<string, string>();
  /** The service's UUID and its characteristics' flags. */
  service: string | undefined;
  readonly flags = new Map<string, unknown>();
  #advertiser: { sender: string; path: string } | undefined;

  private constructor(private readonly bus: SystemBus) {}

  /** @param bus a connection of its own. */
  static async start(bus: SystemBus): Promise<FakeBluez> {
    const bluez = new FakeBluez(bus);
    const at = (path: string, run: ExportedObject["call"]) =>
      bus.export(path, {
        call: (call) => {
          if (bluez.hangs.has(call.member)) return new Promise<never>(() => {});
          return run(call);
        },
      });
    at("/", (call) => bluez.#root(call));
    at("/org/bluez", (call) => bluez.#agents(call));
    at(HCI, (call) => bluez.#adapter(call));
    for (const n of [1, 2, 3]) at(devicePath(n), (call) => bluez.#device(call));
    await bluez.#busCall("RequestName", "su", [BLUEZ, 0]);
    return bluez;
  }

  /** Ends, as a restart begins; everything that was registered is gone. */
  async end(): Promise<void> {
    await this.#busCall("ReleaseName", "s", [BLUEZ]);
    this.forget();
  }

  async again(): Promise<void> {
    await this.#busCall("RequestName", "su", [BLUEZ, 0]);
  }

  forget(): void {
    this.application = this.advertisement = this.agent = undefined;
    this.#characteristics.clear();
  }

  // The phone's side.

  async read(uuid: string, device = devicePath(1), pieceBytes = 512): Promise<Uint8Array> {
    const bytes: number[] = [];
    for (;;) {
      const options = { device: variant("o", device), offset: variant("q", bytes.length) };
      const [piece] = await this.#gatt(uuid, "ReadValue", "a{sv}", [options]);
      const read = (piece as Uint8Array).subarray(0, pieceBytes);
      bytes.push(...read);
      if (read.length < pieceBytes) return Uint8Array.from(bytes);
    }
  }

  async write(uuid: string, value: Uint8Array, device = devicePath(1)): Promise<void> {
    const options = { device: variant("o", device), type: variant("s", "request") };
    await this.#gatt(uuid, "WriteValue", "aya{sv}", [Buffer.from(value), options]);
  }

  /** A long write as older ones bring it. */
  async writeInPieces(uuid: string, value: Uint8Array, pieceBytes: number): Promise<void> {
    for (let offset = 0; offset < value.length; offset += pieceBytes) {
      await this.#gatt(uuid, "WriteValue", "aya{sv}", [
        Buffer.from(value.subarray(offset, offset + pieceBytes)),
        {
          device: variant("o", devicePath(1)),
          offset: variant("q", offset),
          type: variant("s", "reliable"),
        },
      ]);
    }
  }

  /** Asks to be notified of changes. */
  async notified(uuid: string, run: (value: Uint8Array) => void): Promise<void> {
    const path = this.#characteristics.get(uuid)!;
    await this.bus.subscribe(
      { path, interface: PROPERTIES, member: "PropertiesChanged" },
      ({ body: [, changed] }) => {
        const { Value } = unwrapped(changed as Record<string, Variant>);
        if (Value instanceof Uint8Array) run(Value);
      },
    );
    await this.#gatt(uuid, "StartNotify");
  }

  /** Pairs as a phone with a display. */
  async pair(device: string): Promise<void> {
    const { sender, path } = this.agent!;
    const call = (member: string, signature: string, body: unknown[]) =>
      this.bus.call({ destination: sender, path, interface: AGENT, member, signature, body });
    await call("RequestConfirmation", "ou", [device, 123_456]);
    await call("RequestAuthorization", "o", [device]);
  }

  /** The radio is turned off. */
  powerOff(): void {
    this.properties["Powered"] = false;
    this.#changed({ Powered: variant("b", false) });
  }

  removeAdapter(): void {
    this.adapters = false;
    this.bus.emit({
      path: "/",
      interface: OBJECT_MANAGER,
      member: "InterfacesRemoved",
      signature: "oas",
      body: [HCI, [ADAPTER]],
    });
  }

  // The machine's side.

  #root({ member }: IncomingCall): CallReply | undefined {
    if (member === "Ping") return {};
    if (member !== "GetManagedObjects") return undefined;
    const managers = this.canAdvertise ? { [GATT_MANAGER]: {}, [ADVERTISING_MANAGER]: {} } : {};
    const objects = this.adapters ? { [HCI]: { [ADAPTER]: {}, ...managers } } : {};
    return { signature: "a{oa{sa{sv}}}", body: [objects] };
  }

  #agents({ member, sender, body, interface: iface }: IncomingCall): CallReply | undefined {
    if (iface !== AGENT_MANAGER) return undefined;
    const path = String(body[0]);
    if (member === "RegisterAgent") {
      this.agent = { sender, path, capability: String(body[1]), isDefault: false };
    } else if (member === "RequestDefaultAgent" && this.agent) this.agent.isDefault = true;
    else if (member === "UnregisterAgent") this.agent = undefined;
    else return undefined;
    return {};
  }

  async #adapter({ member, sender, body, interface: iface }: IncomingCall): Promise<CallReply> {
    const path = String(body[0]);
    switch (`${iface} ${member}`) {
      case `${PROPERTIES} Get`: {
        const value = this.properties[String(body[1])];
        return { signature: "v", body: [variant(typeof value === "boolean" ? "b" : "s", value)] };
      }
      case `${PROPERTIES} Set`: {
        const [, name, { value }] = body as [string, string, Variant];
        if (name === "Powered" && value === true && this.isBlocked) {
          throw new DBusCallError("org.bluez.Error.Failed", "Blocked through rfkill");
        }
        this.properties[name] = name === "Alias" && value === "" ? "rover" : value;
        return {};
      }
      case `${GATT_MANAGER} RegisterApplication`:
        await this.#keepApplication(sender, path);
        return {};
      case `${GATT_MANAGER} UnregisterApplication`:
        this.application = undefined;
        this.#characteristics.clear();
        return {};
      case `${ADVERTISING_MANAGER} RegisterAdvertisement`: {
        const [found] = await this.bus.call({
          destination: sender,
          path,
          interface: PROPERTIES,
          member: "GetAll",
          signature: "s",
          body: [ADVERTISEMENT],
        });
        this.advertisement = unwrapped(found as Record<string, Variant>);
        this.#advertiser = { sender, path };
        return {};
      }
      case `${ADVERTISING_MANAGER} UnregisterAdvertisement`:
        this.advertisement = undefined;
        return {};
    }
    throw new DBusCallError("org.freedesktop.DBus.Error.UnknownMethod", member);
  }

  /** Ends the advertisement, as when the radio has no room for it any more. */
  async releaseAdvertisement(): Promise<void> {
    const { sender, path } = this.#advertiser!;
    this.advertisement = undefined;
    await this.bus.call({
      destination: sender,
      path,
      interface: ADVERTISEMENT,
      member: "Release",
    });
  }

  #device({ member, path, body }: IncomingCall): CallReply | undefined {
    if (member !== "Set" || body[0] !== DEVICE) return undefined;
    const { value } = body[2] as Variant;
    this.set.push(`${path} ${body[1]} ${value}`);
    return {};
  }

  async #keepApplication(sender: string, path: string): Promise<void> {
    const [objects] = await this.bus.call({
      destination: sender,
      path,
      interface: OBJECT_MANAGER,
      member: "GetManagedObjects",
    });
    for (const [at, interfaces] of Object.entries(objects as Objects)) {
      const characteristic = interfaces[GATT_CHARACTERISTIC];
      const service = interfaces["org.bluez.GattService1"];
      if (service) this.service = String(service["UUID"]?.value);
      if (!characteristic) continue;
      const uuid = String(characteristic["UUID"]?.value);
      this.#characteristics.set(uuid, at);
      this.flags.set(uuid, characteristic["Flags"]?.value);
    }
    this.application = { sender, path };
  }

  #gatt(uuid: string, member: string, signature = "", body: unknown[] = []): Promise<unknown[]> {
    const path = this.#characteristics.get(uuid);
    if (path === undefined || !this.application) throw new Error(`no characteristic ${uuid}`);
    const destination = this.application.sender;
    return this.bus.call({
      destination,
      path,
      interface: GATT_CHARACTERISTIC,
      member,
      signature,
      body,
    });
  }

  #changed(changed: Record<string, Variant>): void {
    this.bus.emit({
      path: HCI,
      interface: PROPERTIES,
      member: "PropertiesChanged",
      signature: "sa{sv}as",
      body: [ADAPTER, changed, []],
    });
  }

  #busCall(member: string, signature: string, body: unknown[]): Promise<unknown[]> {
    return this.bus.call({
      destination: "org.freedesktop.DBus",
      path: "/org/freedesktop/DBus",
      interface: "org.freedesktop.DBus",
      member,
      signature,
      body,
    });
  }
}
