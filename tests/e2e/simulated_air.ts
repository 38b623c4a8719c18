/** What a simulated radio sees. */
import { Variant } from "@jellybrick/dbus-next";

/** Networks in the air, as the file of {@link Air} has them. */
export interface SimulatedNetwork {
  readonly ssid: string;
  /** Empty: an open network. */
  readonly psk: string;
  /** 0 to 100. */
  readonly strength: number;
  readonly isHidden?: boolean;
}

export type Air = readonly SimulatedNetwork[];

/** How a radio is to connect: the part of a profile that is for radios. */
export interface WifiSettings {
  /** Hexadecimal. */
  readonly ssid: string;
  readonly mode: string;
  readonly psk: string;
}

const PREFIX = "/org/freedesktop/NetworkManager/AccessPoint/";
/** NMDeviceStateReason: no secrets (what a wrong password ends with), and not found. */
const NO_SECRETS = 7;
const SSID_NOT_FOUND = 53;

const hexOf = (text: string) => new TextEncoder().encode(text).toHex();

export const pointPath = ({ ssid }: SimulatedNetwork): string => PREFIX + hexOf(ssid);

/** Properties of an access point as NetworkManager has them; undefined where there is none. */
export function pointsOf(air: Air, path: string): Record<string, Variant> | undefined {
  const point = air.find((each) => pointPath(each) === path);
  if (!point) return undefined;
  const isOpen = point.psk === "";
  return {
    Flags: new Variant("u", isOpen ? 0 : 1),
    WpaFlags: new Variant("u", 0),
    // NM80211ApSecurityFlags: CCMP for both, and PSK.
    RsnFlags: new Variant("u", isOpen ? 0 : 0x8 | 0x80 | 0x100),
    Ssid: new Variant("ay", [...new TextEncoder().encode(point.ssid)]),
    Frequency: new Variant("u", 2412),
    HwAddress: new Variant("s", "02:00:00:00:00:01"),
    Mode: new Variant("u", 2),
    MaxBitrate: new Variant("u", 54_000),
    Strength: new Variant("y", point.strength),
    LastSeen: new Variant("i", 1),
  };
}

/** Whether the air lets a radio in: 0, or NMDeviceStateReason. */
export function refusalOf({ ssid, mode, psk }: WifiSettings, air: Air): number {
  if (mode === "ap") return 0;
  const network = air.find((each) => hexOf(each.ssid) === ssid);
  if (!network) return SSID_NOT_FOUND;
  return network.psk === psk ? 0 : NO_SECRETS;
}
