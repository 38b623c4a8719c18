import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  DBusCallError,
  DBusClosed,
  DBusTimeout,
  type MethodCall,
  type Signal,
  type SignalMatch,
  type SystemBus,
  type Variant,
  variant,
} from "../../dbus/system_bus.ts";
import { type FakeAccessPoint, keyOf, pointProperties, refusalOf, textOf } from "./fake_air.ts";
import { FakeProfiles } from "./fake_profiles.ts";
import type { ProfileSettings } from "./profile.ts";

const NAME = "org.freedesktop.NetworkManager";
const ROOT = "/org/freedesktop/NetworkManager";

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
  readonly store: FakeProfiles;
  air: FakeAccessPoint[] = [];
  version = "1.42.4";
  /** False: the radio is on its way to be an access point. */
  hotspotIsUp = true;
  /** -1n: the radio never looked around, and has seen nothing. */
  lastScan = 1n;
  /** Calls by method, for tests of what was not done. */
  readonly calls: string[] = [];
  /** Every call hangs, as after a dead lock of the daemon; with a clock until its time-out. */
  isHanging = false;
  /** Is called before and after each call, and may end the power. */
  onCall: (member: string, when: "before" | "after") => void = () => {};
  readonly wlan0: FakeDevice = device("1", "wlan0", 2, 30);
  readonly eth0: FakeDevice = device("2", "eth0", 1, 20);
  devices = [this.wlan0, this.eth0];
  readonly #actives = new Map<string, FakeActive>();
  readonly subscriptions = new Set<{ match: SignalMatch; run: (signal: Signal) => void }>();
  #count = 0;
  #asked = new Set<string>();
  #isCut = false;
  #end: () => void;

  readonly #clock: Clock | undefined;

  /** @param clock for what runs out: calls that hang, checkpoints. */
  constructor(clock?: Clock) {
    this.#clock = clock;
    this.store = new FakeProfiles(clock);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#end = resolve;
  }

  get profiles(): FakeProfiles["all"] {
    return this.store.all;
  }

  /** What the radio is connected to: an SSID; undefined: nothing. */
  get joined(): string | undefined {
    const bytes = this.#joined;
    return bytes && textOf(bytes);
  }

  /** The radio is an access point. */
  get isHotspot(): boolean {
    const active = this.wlan0.active && this.#actives.get(this.wlan0.active);
    const mode = active && this.profiles.get(active.profile)?.settings["802-11-wireless"]?.mode;
    return mode !== undefined && (mode as Variant).value === "ap";
  }

  get hasInternet(): boolean {
    const joined = this.#joined;
    const point = joined && this.air.find(({ ssid }) => keyOf(ssid) === keyOf(joined));
    return point !== undefined && (point.hasInternet ?? true);
  }

  /** As when a network goes out of reach. */
  drop(): void {
    const { active } = this.wlan0;
    if (active !== undefined) this.#actives.delete(active);
    this.#move(this.wlan0, 30, 0);
    this.wlan0.active = undefined;
  }

  /** As NetworkManager does itself when a network is there again. */
  reconnect(): void {
    for (const [path, { settings }] of this.profiles) {
      const mode = settings["802-11-wireless"]?.mode?.value;
      if (mode !== "infrastructure" || refusalOf(settings, this.air) !== 0) continue;
      this.#activate(path, this.wlan0.path);
      return;
    }
  }

  call(call: MethodCall): Promise<unknown[]> {
    const { member } = call;
    this.calls.push(member);
    if (this.#isCut) return Promise.reject(new DBusClosed("the message bus was disconnected"));
    if (this.isHanging) return this.#hang(call);
    try {
      this.onCall(member, "before");
      const answer = this.#answer(call);
      this.onCall(member, "after");
      return Promise.resolve(answer);
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

  /** The host loses power: what is not on disk is gone, and so is everybody on this bus. */
  cutPower(): DBusClosed {
    this.#isCut = true;
    this.store.cutPower();
    this.#end();
    return new DBusClosed("the power was cut");
  }

  /** NetworkManager of the host's next run, with what the disk has. */
  restarted(): FakeNetworkManager {
    const next = new FakeNetworkManager(this.#clock);
    for (const settings of this.store.disk.values()) next.store.add(settings, 1);
    next.air = this.air;
    return next;
  }

  async #hang({ destination, member, timeoutMs = 25_000 }: MethodCall): Promise<never> {
    if (!this.#clock) return await new Promise<never>(() => {});
    await this.#clock.sleep(timeoutMs);
    throw new DBusTimeout(`${destination} ${member} did not answer within ${timeoutMs} ms`);
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
        return [withoutKeys(this.store.get(path).settings)];
      case "GetSecrets":
        return [onlyKeys(this.store.get(path).settings)];
      case "AddConnection2":
        return [this.store.add(body[0] as ProfileSettings, Number(body[1]))];
      case "Update2":
        this.store.update(path, body[0] as ProfileSettings, Number(body[1]));
        return [{}];
      case "Delete":
        this.store.delete(path);
        if (this.#actives.get(this.wlan0.active ?? "")?.profile === path) this.drop();
        return [];
      case "ActivateConnection":
        return [this.#activate(String(body[0]), String(body[1]))];
      case "DeactivateConnection":
        if (this.wlan0.active === String(body[0])) this.drop();
        return [];
      case "CheckpointCreate":
        return [this.#checkpoint(Number(body[1]))];
      case "CheckpointDestroy":
        this.store.keep(String(body[0]));
        return [];
      case "CheckpointRollback":
        this.store.rollBack(String(body[0]));
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
        LastScan: this.lastScan,
      };
    }
    if (iface === `${NAME}.AccessPoint`) return pointProperties(this.#seen()[Number(last(path))]);
    const active = this.#actives.get(path);
    if (active) {
      const isUp = this.hotspotIsUp || !this.isHotspot;
      return { State: isUp ? active.state : 1, Connection: active.profile };
    }
    throw new DBusCallError("org.freedesktop.DBus.Error.UnknownObject", path);
  }

  #seen(): FakeAccessPoint[] {
    return this.lastScan === -1n
      ? []
      : this.air.filter(({ ssid, isHidden }) => !isHidden || this.#asked.has(keyOf(ssid)));
  }

  #scan(ssids: readonly Uint8Array[]): unknown[] {
    for (const ssid of ssids) this.#asked.add(keyOf(ssid));
    return [];
  }

  /** Going back also connects again what was connected. */
  #checkpoint(seconds: number): string {
    const { active } = this.wlan0;
    const profile = active === undefined ? undefined : this.#actives.get(active)?.profile;
    return this.store.checkpoint(seconds, () => {
      if (profile !== undefined && this.profiles.has(profile)) {
        this.#activate(profile, this.wlan0.path);
      } else this.drop();
    });
  }

  #activate(profile: string, devicePath: string): string {
    const { settings } = this.store.get(profile);
    const device = this.devices.find((each) => each.path === devicePath);
    if (!device) throw new DBusCallError(`${NAME}.UnknownDevice`, devicePath);
    if (device.active !== undefined) this.#actives.delete(device.active);
    const path = `${ROOT}/ActiveConnection/${++this.#count}`;
    const reason = refusalOf(settings, this.air);
    this.#actives.set(path, { profile, device, state: reason === 0 ? 2 : 4 });
    device.active = reason === 0 ? path : undefined;
    this.#move(device, reason === 0 ? 100 : 120, reason);
    return path;
  }

  get #joined(): Uint8Array | undefined {
    const active = this.wlan0.active && this.#actives.get(this.wlan0.active);
    if (!active || active.state !== 2) return undefined;
    const ssid = this.profiles.get(active.profile)?.settings["802-11-wireless"]?.ssid;
    return (ssid as Variant<Uint8Array> | undefined)?.value;
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

function asVariants(values: Record<string, unknown>): Record<string, Variant> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, variant("v", value)]),
  );
}

/** Secrets are not reported. */
function withoutKeys(settings: ProfileSettings): ProfileSettings {
  const { "802-11-wireless-security": security, ...rest } = settings;
  if (!security) return settings;
  const { psk: _, ...open } = security;
  return { ...rest, "802-11-wireless-security": open };
}

function onlyKeys(settings: ProfileSettings): ProfileSettings {
  const psk = settings["802-11-wireless-security"]?.psk;
  return psk ? { "802-11-wireless-security": { psk } } : {};
}

function last(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
