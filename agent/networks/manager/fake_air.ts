import { DBusCallError } from "../../dbus/system_bus.ts";
import type { ProfileSettings } from "./profile.ts";

/** A network in the air. */
export interface FakeAccessPoint {
  /** A text, or what is none. */
  readonly ssid: string | Uint8Array;
  /** Empty: an open network. */
  readonly psk?: string;
  readonly strength?: number;
  readonly isSaeOnly?: boolean;
  /** Shown only to who requests it by name. */
  readonly isHidden?: boolean;
  /** Who joins reaches the internet. Default true. */
  readonly hasInternet?: boolean;
}

/** NMDeviceStateReason; 0: it connects. */
export function refusalOf(settings: ProfileSettings, air: readonly FakeAccessPoint[]): number {
  const wifi = settings["802-11-wireless"];
  if (!wifi || wifi.mode?.value === "ap") return 0;
  const ssid = keyOf(wifi.ssid?.value as Uint8Array);
  const point = air.find((each) => keyOf(each.ssid) === ssid);
  if (!point || (point.isHidden && wifi.hidden?.value !== true)) return 53;
  const security = settings["802-11-wireless-security"];
  if (point.isSaeOnly && security?.["key-mgmt"]?.value !== "sae") return 8;
  return (security?.psk?.value ?? "") === (point.psk ?? "") ? 0 : 7;
}

/** Properties of an access point; NM80211ApSecurityFlags. */
export function pointProperties(point: FakeAccessPoint | undefined): Record<string, unknown> {
  if (!point) throw new DBusCallError("org.freedesktop.DBus.Error.UnknownObject", "gone");
  const rsnFlags = point.psk === undefined ? 0 : point.isSaeOnly ? 0x400 : 0x100;
  return {
    Ssid: bytesOf(point.ssid),
    Strength: point.strength ?? 60,
    Flags: point.psk === undefined ? 0 : 1,
    WpaFlags: 0,
    RsnFlags: rsnFlags,
  };
}

/** The bytes of a name. */
function bytesOf(ssid: string | Uint8Array): Uint8Array {
  return typeof ssid === "string" ? new TextEncoder().encode(ssid) : ssid;
}

/** A name as a key of maps. */
export const keyOf = (ssid: string | Uint8Array) => new Uint8Array(bytesOf(ssid)).toHex();
/** A name as text, as far as it is one. */
export const textOf = (ssid: Uint8Array | undefined) => new TextDecoder().decode(ssid);
