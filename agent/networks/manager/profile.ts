import { createHash } from "node:crypto";
import type { AdditionalNetwork } from "../../../shared/config/agent_fields.ts";
import { type Variant, variant } from "../../dbus/system_bus.ts";

/** A connection profile as NetworkManager takes it (`a{sa{sv}}`). */
export type ProfileSettings = Readonly<Record<string, Readonly<Record<string, Variant>>>>;

/** How a WiFi network is entered; `sae` is WPA3. */
export type WifiKey = "open" | "wpa-psk" | "sae";

/** A network that the agent keeps a profile of. */
export interface ManagedNetwork {
  /** Distinguishes our profiles; the label of `additional_networks`, or one of our own. */
  readonly label: string;
  readonly type: "wifi" | "wired";
  /** Empty: any interface of its type. */
  readonly interface: string;
  /** WiFi only. */
  readonly ssid: Uint8Array;
  readonly key: WifiKey;
  readonly psk: string;
  readonly isHidden: boolean;
  /** -999 to 999, the higher first. */
  readonly priority: number;
  /** `auto`, or an address with the length of its network: 192.168.0.10/24. */
  readonly address: string;
  readonly gateway: string;
  readonly dns: readonly string[];
  /** The lower first; 0: 100 for wired, 600 for WiFi (spec §2.4). */
  readonly routeMetric: number;
  /** `null`: as the system has it. */
  readonly powerSave: boolean | null;
}

/** Where our profiles say that they are ours: `user.data` of NetworkManager ≥ 1.8. */
const OWNER_KEY = "machine-agent.label";

const ROUTE_METRICS = { wired: 100, wifi: 600 } as const;
/** NM_SETTING_WIRELESS_POWERSAVE: 0 default, 1 ignore, 2 disable, 3 enable. */
const POWER_SAVE = { off: 2, on: 3 } as const;

/** An entry of `additional_networks` as a profile's source. */
export function managedNetwork(
  label: string,
  network: AdditionalNetwork,
  { powerSave, key }: { readonly powerSave: boolean | null; readonly key?: WifiKey },
): ManagedNetwork {
  return {
    label,
    type: network.type,
    interface: network.interface,
    ssid: new TextEncoder().encode(network.ssid),
    key: network.psk === "" ? "open" : key ?? "wpa-psk",
    psk: network.psk,
    isHidden: false,
    priority: network.priority,
    address: network.ipv4_address === "" ? "auto" : network.ipv4_address,
    gateway: network.ipv4_gateway,
    dns: network.ipv4_dns,
    routeMetric: network.ipv4_route_metric,
    powerSave,
  };
}

/**
 * The profile of a network. The same network gives the same profile, its identifier included, so
 * that one is never made twice.
 */
export function profileOf(network: ManagedNetwork): ProfileSettings {
  const isWifi = network.type === "wifi";
  return {
    connection: {
      id: variant("s", `machine-${network.label}`),
      uuid: variant("s", profileUuid(network.label)),
      type: variant("s", isWifi ? "802-11-wireless" : "802-3-ethernet"),
      autoconnect: variant("b", true),
      "autoconnect-priority": variant("i", network.priority),
      ...(network.interface === "" ? {} : { "interface-name": variant("s", network.interface) }),
    },
    user: { data: variant("a{ss}", { [OWNER_KEY]: network.label }) },
    ...(isWifi ? wifiSettings(network) : { "802-3-ethernet": {} }),
    ipv4: ipv4Settings(network),
    ipv6: { method: variant("s", "auto") },
  };
}

/** Where the hotspot is on its own network, and how it is entered. */
export interface Hotspot {
  readonly ssid: Uint8Array;
  readonly interface: string;
  /** WPA2; 8 to 64 characters. */
  readonly password: string;
  /** Address of this machine on the hotspot: 10.42.0.1/24. */
  readonly address: string;
}

/** No label of `additional_networks` is the same; see profiles/wanted_networks.ts. */
export const HOTSPOT_LABEL = "@hotspot";

/**
 * The profile of the hotspot: NetworkManager's shared mode gives addresses and names to those who
 * join. It is never connected to automatically.
 */
export function hotspotProfile(hotspot: Hotspot): ProfileSettings {
  return {
    connection: {
      id: variant("s", "machine-hotspot"),
      uuid: variant("s", profileUuid(HOTSPOT_LABEL)),
      type: variant("s", "802-11-wireless"),
      autoconnect: variant("b", false),
      "interface-name": variant("s", hotspot.interface),
    },
    user: { data: variant("a{ss}", { [OWNER_KEY]: HOTSPOT_LABEL }) },
    "802-11-wireless": {
      ssid: variant("ay", Buffer.from(hotspot.ssid)),
      mode: variant("s", "ap"),
      security: variant("s", "802-11-wireless-security"),
    },
    "802-11-wireless-security": {
      "key-mgmt": variant("s", "wpa-psk"),
      proto: variant("as", ["rsn"]),
      pairwise: variant("as", ["ccmp"]),
      psk: variant("s", hotspot.password),
    },
    ipv4: {
      method: variant("s", "shared"),
      "address-data": variant("aa{sv}", [addressData(hotspot.address)]),
      "never-default": variant("b", true),
    },
    ipv6: { method: variant("s", "disabled") },
  };
}

/** The label of a profile of ours; undefined for one that somebody else made. */
export function labelOf(settings: ProfileSettings): string | undefined {
  const data = settings.user?.data?.value as Record<string, string> | undefined;
  return data?.[OWNER_KEY];
}

/** A UUID of version 8 (RFC 9562 §5.8) made from the label. */
export function profileUuid(label: string): string {
  const hash = createHash("sha256").update(`machine-agent network ${label}`).digest();
  hash[6] = (hash[6] ?? 0) & 0x0f | 0x80;
  hash[8] = (hash[8] ?? 0) & 0x3f | 0x80;
  const hex = hash.toString("hex");
  const parts = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]] as const;
  return parts.map(([from, to]) => hex.slice(from, to)).join("-");
}

function wifiSettings(network: ManagedNetwork): Record<string, Record<string, Variant>> {
  const { key, psk, powerSave } = network;
  const isSecured = key !== "open";
  return {
    "802-11-wireless": {
      ssid: variant("ay", Buffer.from(network.ssid)),
      mode: variant("s", "infrastructure"),
      ...(network.isHidden ? { hidden: variant("b", true) } : {}),
      ...(powerSave === null
        ? {}
        : { powersave: variant("u", powerSave ? POWER_SAVE.on : POWER_SAVE.off) }),
      ...(isSecured ? { security: variant("s", "802-11-wireless-security") } : {}),
    },
    ...(isSecured
      ? {
        "802-11-wireless-security": {
          "key-mgmt": variant("s", key),
          psk: variant("s", psk),
        },
      }
      : {}),
  };
}

function ipv4Settings(network: ManagedNetwork): Record<string, Variant> {
  const { address, gateway, dns } = network;
  const metric = network.routeMetric === 0 ? ROUTE_METRICS[network.type] : network.routeMetric;
  const isAutomatic = address.toLowerCase() === "auto";
  return {
    method: variant("s", isAutomatic ? "auto" : "manual"),
    "route-metric": variant("x", BigInt(metric)),
    ...(isAutomatic ? {} : { "address-data": variant("aa{sv}", [addressData(address)]) }),
    ...(gateway === "" || isAutomatic ? {} : { gateway: variant("s", gateway) }),
    ...(dns.length === 0
      ? {}
      : { dns: variant("au", dns.map(ipv4Number)), "ignore-auto-dns": variant("b", true) }),
  };
}

function addressData(cidr: string): Record<string, Variant> {
  const [address = "", length = "24"] = cidr.split("/");
  return { address: variant("s", address), prefix: variant("u", Number(length)) };
}

/** As NetworkManager has it: the bytes of the address, in network order, as a number of this host. */
function ipv4Number(address: string): number {
  const bytes = Uint8Array.from(address.split(".").map(Number));
  return new DataView(bytes.buffer).getUint32(
    0,
    new Uint16Array(Uint8Array.of(1, 0).buffer)[0] === 1,
  );
}
