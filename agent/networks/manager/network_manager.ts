import {
  DBusCallError,
  getProperties,
  getProperty,
  setProperty,
  type Signal,
  type SystemBus,
  variant,
} from "../../dbus/system_bus.ts";
import { labelOf, type ProfileSettings } from "./profile.ts";

const NAME = "org.freedesktop.NetworkManager";
const ROOT = "/org/freedesktop/NetworkManager";
const SETTINGS = `${ROOT}/Settings`;
const SETTINGS_INTERFACE = `${NAME}.Settings`;
const PROFILE_INTERFACE = `${NAME}.Settings.Connection`;
const DEVICE_INTERFACE = `${NAME}.Device`;
const WIRELESS_INTERFACE = `${NAME}.Device.Wireless`;
const ACCESS_POINT_INTERFACE = `${NAME}.AccessPoint`;
const ACTIVE_INTERFACE = `${NAME}.Connection.Active`;
const WIFI_SECURITY = "802-11-wireless-security";
const OLDEST = [1, 22] as const;
/** NM_SETTINGS_ADD_CONNECTION2_FLAG_TO_DISK, _IN_MEMORY, _BLOCK_AUTOCONNECT; likewise for updates. */
const TO_DISK = 0x1;
const IN_MEMORY = 0x2;
/** NM_CHECKPOINT_CREATE_FLAG_DELETE_NEW_CONNECTIONS, _DISCONNECT_NEW_DEVICES. */
const CHECKPOINT_FLAGS = 0x2 | 0x4;
/** NMDeviceType; 20 is veth, the wired interface of containers and network namespaces. */
const DEVICE_TYPES: Readonly<Record<number, NetworkDevice["type"]>> = {
  1: "wired",
  2: "wifi",
  20: "wired",
};

/** A wired interface or a radio. */
export interface NetworkDevice {
  readonly path: string;
  /** `wlan0`. */
  readonly interface: string;
  readonly type: "wired" | "wifi";
  /** NMDeviceState: 20 unavailable, 30 disconnected, 100 activated, 120 failed. */
  readonly state: number;
  /** NMDeviceStateReason of the last change of state. */
  readonly reason: number;
  /** Path of what is connected through it; undefined when nothing is. */
  readonly active: string | undefined;
}

/** What a radio sees. */
export interface AccessPoint {
  readonly ssid: Uint8Array;
  /** 0 to 100. */
  readonly strength: number;
  /** NM80211ApFlags, and NM80211ApSecurityFlags of WPA and RSN. */
  readonly flags: number;
  readonly wpaFlags: number;
  readonly rsnFlags: number;
}

/** A profile of ours in NetworkManager. */
export interface OwnProfile {
  readonly path: string;
  readonly label: string;
  readonly settings: ProfileSettings;
}

/** NetworkManager is not there, or too old. The message says what to do. */
export class NoNetworkManager extends Error {
  override readonly name = "NoNetworkManager";
}

/**
 * NetworkManager (1.22 or newer) over D-Bus. Only profiles that the agent made are listed, changed
 * or deleted. Errors are those of {@link SystemBus.call}.
 */
export class NetworkManager {
  readonly #bus: SystemBus;
  /** "1.42.4" */
  readonly version: string;

  private constructor(bus: SystemBus, version: string) {
    this.#bus = bus;
    this.version = version;
  }

  /** @throws {NoNetworkManager} */
  static async open(bus: SystemBus): Promise<NetworkManager> {
    const version = await getProperty(bus, NAME, ROOT, NAME, "Version").catch((error: unknown) => {
      throw new NoNetworkManager(
        "NetworkManager does not run here; install and start it, or set " +
          "agent.advanced_settings.disable_network_configuration",
        { cause: error },
      );
    });
    const [major = 0, minor = 0] = String(version).split(".").map(Number);
    if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
      throw new NoNetworkManager(
        `NetworkManager ${version} is too old; networks need ${OLDEST.join(".")} or newer`,
      );
    }
    return new NetworkManager(bus, String(version));
  }

  /** Wired interfaces and radios; bridges, tunnels and loopback are left out. */
  async devices(): Promise<NetworkDevice[]> {
    const [paths] = await this.#call(ROOT, NAME, "GetDevices");
    const found = await Promise.all((paths as string[]).map((path) => this.#device(path)));
    return found.filter((device) => device !== undefined);
  }

  /** What a radio saw in its last scan. */
  async accessPoints(device: NetworkDevice): Promise<AccessPoint[]> {
    const [paths] = await this.#call(device.path, WIRELESS_INTERFACE, "GetAllAccessPoints");
    const found = await Promise.all(
      (paths as string[]).map((path) => gone(this.#properties(path, ACCESS_POINT_INTERFACE))),
    );
    return found.filter((point) => point !== undefined).map((point) => ({
      ssid: new Uint8Array(point.Ssid as Uint8Array),
      strength: Number(point.Strength),
      flags: Number(point.Flags),
      wpaFlags: Number(point.WpaFlags),
      rsnFlags: Number(point.RsnFlags),
    }));
  }

  /**
   * Asks a radio to look around; {@link lastScan} changes when it has.
   *
   * @param ssids of networks that hide their names.
   */
  async requestScan(device: NetworkDevice, ssids: readonly Uint8Array[] = []): Promise<void> {
    const options = ssids.length === 0
      ? {}
      : { ssids: variant("aay", ssids.map((ssid) => Buffer.from(ssid))) };
    await this.#call(device.path, WIRELESS_INTERFACE, "RequestScan", "a{sv}", [options]);
  }

  /** Milliseconds since the host's start; -1 when it never scanned. */
  async lastScan(device: NetworkDevice): Promise<number> {
    const { path } = device;
    return Number(await getProperty(this.#bus, NAME, path, WIRELESS_INTERFACE, "LastScan"));
  }

  /** The profiles that the agent made, in this run or an earlier one. */
  async ownProfiles(): Promise<OwnProfile[]> {
    const [paths] = await this.#call(SETTINGS, SETTINGS_INTERFACE, "ListConnections");
    const all = await Promise.all((paths as string[]).map(async (path) => {
      const answer = await gone(this.#call(path, PROFILE_INTERFACE, "GetSettings"));
      const settings = answer?.[0] as ProfileSettings | undefined;
      const label = settings && labelOf(settings);
      return settings === undefined || label === undefined ? undefined : { path, label, settings };
    }));
    return all.filter((profile) => profile !== undefined);
  }

  /**
   * What a profile says with its keys, which {@link ownProfiles} leaves out.
   *
   * @returns undefined when NetworkManager does not have or tell them.
   */
  async withSecrets({ path, settings }: OwnProfile): Promise<ProfileSettings | undefined> {
    const security = settings[WIFI_SECURITY];
    if (security === undefined) return settings;
    try {
      const body = [WIFI_SECURITY];
      const [answer] = await this.#call(path, PROFILE_INTERFACE, "GetSecrets", "s", body);
      const secrets = (answer as ProfileSettings)[WIFI_SECURITY];
      return secrets?.psk && { ...settings, [WIFI_SECURITY]: { ...security, ...secrets } };
    } catch (error) {
      if (error instanceof DBusCallError) return undefined;
      throw error;
    }
  }

  /**
   * Adds a profile.
   *
   * @param isKept false: only until NetworkManager or the host is started again.
   * @returns its path.
   */
  async addProfile(settings: ProfileSettings, isKept: boolean): Promise<string> {
    const flags = isKept ? TO_DISK : IN_MEMORY;
    const body = [settings, flags, {}];
    const [path] = await this.#call(
      SETTINGS,
      SETTINGS_INTERFACE,
      "AddConnection2",
      "a{sa{sv}}ua{sv}",
      body,
    );
    return String(path);
  }

  /**
   * Replaces what a profile of ours says. What is connected with it stays so until it is again.
   *
   * @param isKept false: the disk keeps what it has, until this is called again with true.
   */
  async updateProfile(path: string, settings: ProfileSettings, isKept: boolean): Promise<void> {
    const body = [settings, isKept ? TO_DISK : IN_MEMORY, {}];
    await this.#call(path, PROFILE_INTERFACE, "Update2", "a{sa{sv}}ua{sv}", body);
  }

  /** Deletes a profile of ours and disconnects what uses it. One that is gone is fine. */
  async deleteProfile(path: string): Promise<void> {
    await gone(this.#call(path, PROFILE_INTERFACE, "Delete"));
  }

  /** Connects; {@link activeState} says how it goes. @returns path of the active connection. */
  async activate(profile: string, device: NetworkDevice): Promise<string> {
    const body = [profile, device.path, "/"];
    const [path] = await this.#call(ROOT, NAME, "ActivateConnection", "ooo", body);
    return String(path);
  }

  /** Disconnects. What is not connected any more is fine. */
  async deactivate(active: string): Promise<void> {
    await gone(this.#call(ROOT, NAME, "DeactivateConnection", "o", [active]));
  }

  /** Switches the radios on, where software switched them off. */
  async enableWifi(): Promise<void> {
    await setProperty(this.#bus, NAME, ROOT, NAME, "WirelessEnabled", variant("b", true));
  }

  /** After {@link deactivate} a device connects to nothing automatically until this is called. */
  async allowAutoconnect(device: NetworkDevice): Promise<void> {
    const yes = variant("b", true);
    await gone(setProperty(this.#bus, NAME, device.path, DEVICE_INTERFACE, "Autoconnect", yes));
  }

  /** NMActiveConnectionState: 1 connecting, 2 connected, 3 and 4 on its way down; 4 when gone. */
  async activeState(active: string): Promise<number> {
    const state = await gone(getProperty(this.#bus, NAME, active, ACTIVE_INTERFACE, "State"));
    return state === undefined ? 4 : Number(state);
  }

  /** Path of the profile that is connected; undefined when it is gone. */
  async activeProfile(active: string): Promise<string | undefined> {
    const path = await gone(getProperty(this.#bus, NAME, active, ACTIVE_INTERFACE, "Connection"));
    return path === undefined ? undefined : String(path);
  }

  /**
   * NMState: 70 when NetworkManager reaches the internet as far as it knows, 60 and 50 for less,
   * 20 disconnected.
   */
  async state(): Promise<number> {
    return Number(await getProperty(this.#bus, NAME, ROOT, NAME, "State"));
  }

  /**
   * NMConnectivityState: 0 unknown, 1 none, 2 portal, 3 limited, 4 full. 0 when its check is not set
   * up: NetworkManager then takes any default route for the internet.
   */
  async connectivity(): Promise<number> {
    const all = await this.#properties(ROOT, NAME);
    const isChecked = all.ConnectivityCheckAvailable === true &&
      all.ConnectivityCheckEnabled === true;
    return isChecked ? Number(all.Connectivity) : 0;
  }

  /**
   * From now on NetworkManager goes back to how everything is at this moment, automatically, unless
   * {@link keepChanges} comes within `seconds`.
   *
   * @returns path of the checkpoint.
   */
  async checkpoint(seconds: number): Promise<string> {
    const body = [[], Math.ceil(seconds), CHECKPOINT_FLAGS];
    const [path] = await this.#call(ROOT, NAME, "CheckpointCreate", "aouu", body);
    return String(path);
  }

  /** Keeps what changed since the checkpoint. @returns false when it had run out before. */
  async keepChanges(checkpoint: string): Promise<boolean> {
    return await gone(this.#call(ROOT, NAME, "CheckpointDestroy", "o", [checkpoint])) !== undefined;
  }

  /** Goes back at once. */
  async rollBack(checkpoint: string): Promise<void> {
    await gone(this.#call(ROOT, NAME, "CheckpointRollback", "o", [checkpoint]));
  }

  /** `run` is called whenever anything of NetworkManager changed. @returns takes it back. */
  async onChange(run: (signal: Signal) => void): Promise<() => Promise<void>> {
    return await this.#bus.subscribe({ sender: NAME, pathNamespace: ROOT }, run);
  }

  async #device(path: string): Promise<NetworkDevice | undefined> {
    const device = await gone(this.#properties(path, DEVICE_INTERFACE));
    const type = DEVICE_TYPES[Number(device?.DeviceType)];
    if (device === undefined || type === undefined) return undefined;
    const active = String(device.ActiveConnection);
    const [, reason = 0] = device.StateReason as number[];
    return {
      path,
      interface: String(device.Interface),
      type,
      state: Number(device.State),
      reason,
      active: active === "/" ? undefined : active,
    };
  }

  #properties(path: string, iface: string): Promise<Record<string, unknown>> {
    return getProperties(this.#bus, NAME, path, iface);
  }

  #call(
    path: string,
    iface: string,
    member: string,
    signature = "",
    body: readonly unknown[] = [],
  ): Promise<unknown[]> {
    return this.#bus.call({ destination: NAME, path, interface: iface, member, signature, body });
  }
}

const GONE = new Set([
  "org.freedesktop.DBus.Error.UnknownObject",
  "org.freedesktop.DBus.Error.UnknownMethod",
  "org.freedesktop.DBus.Error.UnknownInterface",
  "org.freedesktop.NetworkManager.InvalidConnection",
  "org.freedesktop.NetworkManager.Settings.InvalidConnection",
  "org.freedesktop.NetworkManager.ConnectionNotActive",
  "org.freedesktop.NetworkManager.InvalidArguments",
]);

/** `undefined` when the object disappeared meanwhile, as devices and access points do. */
async function gone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DBusCallError && GONE.has(error.errorName)) return undefined;
    throw error;
  }
}
