/**
 * NetworkManager with a radio, where no kernel can simulate one: a real NetworkManager on a message
 * bus of its own, of which one wired interface is shown to the bus of the machine as `wlan0` of WiFi.
 * Profiles, checkpoints, addresses and the hotspot's DHCP and DNS are NetworkManager's own; what a
 * radio sees, and whom it admits, is set by a file. Run by tests with four arguments: the address
 * of NetworkManager's bus, that of the machine's, the interface, and the file of {@link Air}.
 */
import * as dbus from "@jellybrick/dbus-next";
import { type Air, pointPath, pointsOf, refusalOf } from "./simulated_air.ts";
import { type Settings, toWired, toWireless, wifiOf } from "./simulated_profiles.ts";

const NAME = "org.freedesktop.NetworkManager";
const ROOT = "/org/freedesktop/NetworkManager";
const PROPERTIES = "org.freedesktop.DBus.Properties";
const WIRELESS = `${NAME}.Device.Wireless`;
const WIFI_DEVICE = 2;
/** So long a radio takes to find out that it is not let in. */
const REFUSED_AFTER_MS = 1_000;

class SimulatedRadio {
  readonly #up: dbus.MessageBus;
  readonly #down: dbus.MessageBus;
  readonly #airFile: string;
  #radio = "";
  /** What the radio was not let into: path of the activation, and when it is over. */
  #refused: { path: string; profile: string; reason: number; endMs: number } | undefined;
  #count = 0;

  constructor(up: dbus.MessageBus, down: dbus.MessageBus, airFile: string) {
    this.#up = up;
    this.#down = down;
    this.#airFile = airFile;
  }

  async begin(iface: string): Promise<void> {
    const [path] = await this.#ask(ROOT, NAME, "GetDeviceByIpIface", "s", [iface]);
    this.#radio = String(path);
    await this.#callOn("org.freedesktop.DBus", {
      path: "/org/freedesktop/DBus",
      interface: "org.freedesktop.DBus",
      member: "AddMatch",
      signature: "s",
      body: [`type='signal',sender='${NAME}'`],
    });
    this.#up.on("message", (message: dbus.Message) => {
      const { type, path, member, signature, body } = message;
      if (type !== dbus.MessageType.SIGNAL || !path.startsWith(ROOT)) return;
      this.#down.send(dbus.Message.newSignal(path, message.interface, member, signature, body));
    });
    this.#down.addMethodHandler((message: dbus.Message) => {
      if (!message.path.startsWith(ROOT)) return false;
      void this.#answer(message);
      return true;
    });
    await this.#down.requestName(NAME, 0);
  }

  async #answer(message: dbus.Message): Promise<void> {
    let reply: dbus.Message;
    try {
      const [signature, body] = await this.#reply(message);
      reply = dbus.Message.newMethodReturn(message, signature, body);
    } catch (error) {
      const { type, text } = error instanceof dbus.DBusError
        ? error
        : { type: `${NAME}.Failed`, text: String(error) };
      reply = dbus.Message.newError(message, type, text);
    }
    this.#down.send(reply);
  }

  /** @returns signature and values of the answer. */
  async #reply(message: dbus.Message): Promise<[string, unknown[]]> {
    const { path, member, body } = message;
    const iface = message.interface === PROPERTIES ? String(body[0]) : message.interface;
    if (iface === WIRELESS) return await this.#wireless(member);
    if (path.startsWith(`${ROOT}/AccessPoint/`)) {
      const properties = pointsOf(await this.#air(), path);
      if (properties) return ["a{sv}", [properties]];
      throw new dbus.DBusError("org.freedesktop.DBus.Error.UnknownObject", `no ${path}`);
    }
    if (path === this.#refused?.path) return this.#ofRefused(String(body[1]));
    if (path === this.#radio && member === "GetAll") {
      return ["a{sv}", [await this.#device(message)]];
    }
    switch (member) {
      case "AddConnection2":
      case "Update2":
        return await this.#forward(message, [toWired(body[0] as Settings), ...body.slice(1)]);
      case "GetSettings": {
        const [, [settings]] = await this.#forward(message);
        return ["a{sa{sv}}", [toWireless(settings as Settings)]];
      }
      case "ActivateConnection":
        return await this.#activate(message);
      case "DeactivateConnection":
        if (body[0] === this.#refused?.path) return ["", []];
        return await this.#forward(message);
      default:
        return await this.#forward(message);
    }
  }

  async #wireless(member: string): Promise<[string, unknown[]]> {
    switch (member) {
      case "GetAllAccessPoints": {
        // A radio that is an access point sees nothing.
        const isHotspot = (await this.#now())?.mode === "ap";
        const air = isHotspot ? [] : await this.#air();
        return ["ao", [air.filter(({ isHidden }) => !isHidden).map((one) => pointPath(one))]];
      }
      case "RequestScan":
        return ["", []];
      default:
        return ["v", [new dbus.Variant("x", BigInt(Math.floor(performance.now())))]];
    }
  }

  #ofRefused(property: string): [string, unknown[]] {
    const { profile = "/", endMs = 0 } = this.#refused ?? {};
    const state = performance.now() < endMs ? 1 : 4;
    const value = property === "State"
      ? new dbus.Variant("u", state)
      : new dbus.Variant("o", profile);
    return ["v", [value]];
  }

  async #device(message: dbus.Message): Promise<Record<string, dbus.Variant>> {
    const [, [found]] = await this.#forward(message);
    const properties = found as Record<string, dbus.Variant>;
    if (String(message.body[0]) !== `${NAME}.Device`) return properties;
    properties["DeviceType"] = new dbus.Variant("u", WIFI_DEVICE);
    const refused = this.#refused;
    if (refused) {
      const state = performance.now() < refused.endMs ? 50 : 120;
      properties["StateReason"] = new dbus.Variant("(uu)", [state, refused.reason]);
    }
    return properties;
  }

  async #activate(message: dbus.Message): Promise<[string, unknown[]]> {
    const [profile, device] = message.body as string[];
    this.#refused = undefined;
    if (device !== this.#radio) return await this.#forward(message);
    const [settings] = await this.#ask(
      String(profile),
      `${NAME}.Settings.Connection`,
      "GetSettings",
    );
    const wifi = wifiOf(settings as Settings);
    const reason = wifi === undefined ? 0 : refusalOf(wifi, await this.#air());
    if (reason === 0) return await this.#forward(message);
    await this.#ask(this.#radio, `${NAME}.Device`, "Disconnect").catch(() => undefined);
    const path = `${ROOT}/ActiveConnection/refused${++this.#count}`;
    const endMs = performance.now() + REFUSED_AFTER_MS;
    this.#refused = { path, profile: String(profile), reason, endMs };
    return ["o", [path]];
  }

  /** What the radio is connected with. */
  async #now() {
    const get = async (path: string, iface: string, name: string) => {
      const [value] = await this.#ask(path, PROPERTIES, "Get", "ss", [iface, name]);
      return String((value as dbus.Variant).value);
    };
    const active = await get(this.#radio, `${NAME}.Device`, "ActiveConnection");
    if (active === "/") return undefined;
    const profile = await get(active, `${NAME}.Connection.Active`, "Connection");
    const [settings] = await this.#ask(profile, `${NAME}.Settings.Connection`, "GetSettings");
    return wifiOf(settings as Settings);
  }

  async #air(): Promise<Air> {
    return JSON.parse(await Deno.readTextFile(this.#airFile)) as Air;
  }

  async #forward(message: dbus.Message, body = message.body): Promise<[string, unknown[]]> {
    const { path, member, signature } = message;
    const call = { path, interface: message.interface, member, signature, body };
    const answer = await this.#callOn(NAME, call);
    return [answer?.signature ?? "", answer?.body ?? []];
  }

  async #ask(
    path: string,
    iface: string,
    member: string,
    signature = "",
    body: unknown[] = [],
  ): Promise<unknown[]> {
    const answer = await this.#callOn(NAME, { path, interface: iface, member, signature, body });
    return answer?.body ?? [];
  }

  async #callOn(
    destination: string,
    call: { path: string; interface: string; member: string; signature: string; body: unknown[] },
  ): Promise<dbus.Message | null> {
    return await this.#up.call(new dbus.Message({ destination, ...call }));
  }
}

async function connected(busAddress: string): Promise<dbus.MessageBus> {
  const bus = dbus.sessionBus({ busAddress });
  await new Promise<void>((resolve, reject) => {
    bus.once("connect", resolve);
    bus.on("error" as "connect", reject as () => void);
  });
  return bus;
}

const [upstream = "", downstream = "", iface = "", airFile = ""] = Deno.args;
const up = await connected(upstream);
const down = await connected(downstream);
await new SimulatedRadio(up, down, airFile).begin(iface);
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
