import {
  DBusCallError,
  DBusClosed,
  type MethodCall,
  type Signal,
  type SignalMatch,
  type SystemBus,
  type Variant,
  variant,
} from "../../dbus/system_bus.ts";
import type { ProfileSettings } from "./profile.ts";

const NAME = "org.freedesktop.NetworkManager";
const ROOT = "/org/freedesktop/NetworkManager";

/** A network in the air. */
export interface FakeAccessPoint {
  readonly ssid: string;
  /** Empty: an open network. */
  readonly psk?: string;
  readonly strength?: number;
  readonly isSaeOnly?: boolean;
  /** Told only to who asks for it by name. */
  readonly isHidden?: boolean;
  /** Who joins reaches the internet. Default true. */
  readonly hasInternet?: boolean;
}

interface FakeDevice {
  readonly path: string;
  readonly name: string;
  readonly type: number;
  state: number;
  reason: number;
  active: string | undefined;
}

interface FakeActive {
  readonly profile: string;
  readonly device: FakeDevice;
  state: number;
}

/**
 * NetworkManager with one radio `wlan0` and one wired interface `eth0`, in memory, for tests with a
 * clock of their own. It is the message bus, too.
 */
export class FakeNetworkManager implements SystemBus {
  readonly uniqueName = ":1.9";
  readonly closed: Promise<void>;
  readonly profiles = new Map<string, { settings: ProfileSettings; isKept: boolean }>();
  air: FakeAccessPoint[] = [];
  version = "1.42.4";
  /** Calls by method, for tests of what was not done. */
  readonly calls: string[] = [];
  /** Every call hangs, as after a dead lock of the daemon. */
  isHanging = false;
  readonly wlan0: FakeDevice = device("1", "wlan0", 2, 30);
  readonly eth0: FakeDevice = device("2", "eth0", 1, 20);
  devices = [this.wlan0, this.eth0];
  readonly #actives = new Map<string, FakeActive>();
  readonly subscriptions = new Set<{ match: SignalMatch; run: (signal: Signal) => void }>();
  #count = 0;
  #asked = new Set<string>();
  #end: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#end = resolve;
  }

  /** What the radio is connected to: an SSID; undefined: nothing. */
  get joined(): string | undefined {
    const active = this.wlan0.active && this.#actives.get(this.wlan0.active);
    return active && active.state === 2 ? this.#ssid(active.profile) : undefined;
  }

  /** The radio is an access point. */
  get isHotspot(): boolean {
    const active = this.wlan0.active && this.#actives.get(this.wlan0.active);
    const mode = active && this.profiles.get(active.profile)?.settings["802-11-wireless"]?.mode;
    return mode !== undefined && (mode as Variant).value === "ap";
  }

  get hasInternet(): boolean {
    const { joined } = this;
    const point = this.air.find(({ ssid }) => ssid === joined);
    return point !== undefined && (point.hasInternet ?? true);
  }

  /** As when a network goes out of reach. */
  drop(): void {
    const { active } = this.wlan0;
    if (active !== undefined) this.#actives.delete(active);
    this.#move(this.wlan0, 30, 0);
    this.wlan0.active = undefined;
  }

  call(call: MethodCall): Promise<unknown[]> {
    this.calls.push(call.member);
    if (this.isHanging) return new Promise(() => {});
    try {
      return Promise.resolve(this.#answer(call));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  subscribe(match: SignalMatch, run: (signal: Signal) => void): Promise<() => Promise<void>> {
    const subscription = { match, run };
    this.subscriptions.add(subscription);
    return Promise.resolve(() => Promise.resolve(void this.subscriptions.delete(subscription)));
  }

  export(): () => void {
    return () => {};
  }

  emit(): void {}

  /** Others still have connections of their own. */
  close(): void {}

  /** The bus ends, as with a restart of it. */
  lose(): void {
    this.#end();
  }

  #answer({ path, interface: iface, member, body = [] }: MethodCall): unknown[] {
    switch (member) {
      case "GetAll":
        return [asVariants(this.#properties(path, String(body[0])))];
      case "Get":
        return [variant("v", this.#properties(path, String(body[0]))[String(body[1])])];
      case "Set":
        return [];
      case "GetDevices":
        return [this.devices.map((each) => each.path)];
      case "GetAllAccessPoints":
        return [
          this.isHotspot ? [] : this.#seen().map((_, index) => `${ROOT}/AccessPoint/${index}`),
        ];
      case "RequestScan":
        return this.#scan((body[0] as { ssids?: Variant<Uint8Array[]> }).ssids?.value ?? []);
      case "ListConnections":
        return [[...this.profiles.keys()]];
      case "GetSettings":
        return [withoutKeys(this.#profile(path).settings)];
      case "AddConnection2":
        return [this.#add(body[0] as ProfileSettings, Number(body[1]))];
      case "Update2": {
        const profile = this.#profile(path);
        profile.settings = body[0] as ProfileSettings;
        profile.isKept = Number(body[1]) === 1;
        return [{}];
      }
      case "Delete":
        this.#profile(path);
        this.profiles.delete(path);
        if (this.#actives.get(this.wlan0.active ?? "")?.profile === path) this.drop();
        return [];
      case "ActivateConnection":
        return [this.#activate(String(body[0]), String(body[1]))];
      case "DeactivateConnection":
        if (this.wlan0.active === String(body[0])) this.drop();
        return [];
      case "CheckpointCreate":
        return [`${ROOT}/Checkpoint/1`];
      case "CheckpointDestroy":
      case "CheckpointRollback":
        return [{}];
    }
    throw new DBusCallError("org.freedesktop.DBus.Error.UnknownMethod", `${iface}.${member}`);
  }

  #properties(path: string, iface: string): Record<string, unknown> {
    if (path === ROOT) return { Version: this.version, State: 70, Connectivity: 0 };
    const device = this.devices.find((each) => each.path === path);
    if (device) {
      const { type, name, state, reason, active = "/" } = device;
      return {
        DeviceType: type,
        Interface: name,
        State: state,
        StateReason: [state, reason],
        ActiveConnection: active,
        LastScan: 1n,
      };
    }
    if (iface === `${NAME}.AccessPoint`) return pointProperties(this.#seen()[Number(last(path))]);
    const active = this.#actives.get(path);
    if (active) return { State: active.state, Connection: active.profile };
    throw new DBusCallError("org.freedesktop.DBus.Error.UnknownObject", path);
  }

  #seen(): FakeAccessPoint[] {
    return this.air.filter(({ ssid, isHidden }) => !isHidden || this.#asked.has(ssid));
  }

  #scan(ssids: readonly Uint8Array[]): unknown[] {
    for (const ssid of ssids) this.#asked.add(new TextDecoder().decode(ssid));
    return [];
  }

  #add(settings: ProfileSettings, flags: number): string {
    const path = `${ROOT}/Settings/${++this.#count}`;
    this.profiles.set(path, { settings, isKept: flags === 1 });
    return path;
  }

  #activate(profile: string, devicePath: string): string {
    const { settings } = this.#profile(profile);
    const device = this.devices.find((each) => each.path === devicePath);
    if (!device) throw new DBusCallError(`${NAME}.UnknownDevice`, devicePath);
    if (device.active !== undefined) this.#actives.delete(device.active);
    const path = `${ROOT}/ActiveConnection/${++this.#count}`;
    const reason = this.#refusal(settings);
    this.#actives.set(path, { profile, device, state: reason === 0 ? 2 : 4 });
    device.active = reason === 0 ? path : undefined;
    this.#move(device, reason === 0 ? 100 : 120, reason);
    return path;
  }

  /** NMDeviceStateReason; 0: it connects. */
  #refusal(settings: ProfileSettings): number {
    const wifi = settings["802-11-wireless"];
    if (!wifi || wifi.mode?.value === "ap") return 0;
    const ssid = new TextDecoder().decode(wifi.ssid?.value as Uint8Array);
    const point = this.air.find((each) => each.ssid === ssid);
    if (!point || (point.isHidden && wifi.hidden?.value !== true)) return 53;
    const security = settings["802-11-wireless-security"];
    if (point.isSaeOnly && security?.["key-mgmt"]?.value !== "sae") return 8;
    return (security?.psk?.value ?? "") === (point.psk ?? "") ? 0 : 7;
  }

  #profile(path: string): { settings: ProfileSettings; isKept: boolean } {
    const profile = this.profiles.get(path);
    if (profile) return profile;
    throw new DBusCallError("org.freedesktop.DBus.Error.UnknownMethod", `no ${path}`);
  }

  #ssid(profile: string): string {
    const ssid = this.profiles.get(profile)?.settings["802-11-wireless"]?.ssid;
    return new TextDecoder().decode((ssid as Variant<Uint8Array> | undefined)?.value);
  }

  #move(device: FakeDevice, state: number, reason: number): void {
    device.state = state;
    device.reason = reason;
    const signal = { sender: this.uniqueName, path: device.path, interface: `${NAME}.Device` };
    for (const { run } of [...this.subscriptions]) {
      run({ ...signal, member: "StateChanged", body: [state, 0, reason] });
    }
  }
}

/** A bus that is not there. */
export function noBus(): Promise<SystemBus> {
  return Promise.reject(new DBusClosed("cannot connect to the message bus at /run/none"));
}

function device(number: string, name: string, type: number, state: number): FakeDevice {
  const path = `${ROOT}/Devices/${number}`;
  return { path, name, type, state, reason: 0, active: undefined };
}

function pointProperties(point: FakeAccessPoint | undefined): Record<string, unknown> {
  if (!point) throw new DBusCallError("org.freedesktop.DBus.Error.UnknownObject", "gone");
  const rsnFlags = point.psk === undefined ? 0 : point.isSaeOnly ? 0x400 : 0x100;
  return {
    Ssid: new TextEncoder().encode(point.ssid),
    Strength: point.strength ?? 60,
    Flags: point.psk === undefined ? 0 : 1,
    WpaFlags: 0,
    RsnFlags: rsnFlags,
  };
}

function asVariants(values: Record<string, unknown>): Record<string, Variant> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, variant("v", value)]),
  );
}

/** Secrets are not told. */
function withoutKeys(settings: ProfileSettings): ProfileSettings {
  const { "802-11-wireless-security": security, ...rest } = settings;
  if (!security) return settings;
  const { psk: _, ...open } = security;
  return { ...rest, "802-11-wireless-security": open };
}

function last(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
