import type { NetworkSecurity, VisibleNetwork } from "../../provisioning/provisioning_port.ts";
import type { AccessPoint } from "../manager/network_manager.ts";

/** NM80211ApFlags and NM80211ApSecurityFlags. */
const PRIVACY = 0x1;
const KEY_PSK = 0x100;
const KEY_802_1X = 0x200;
const KEY_SAE = 0x400;
const KEY_SUITE_B = 0x2000;

/** How an access point lets somebody in. One that takes WPA2 and WPA3 counts as WPA2. */
export function securityOf({ flags, wpaFlags, rsnFlags }: AccessPoint): NetworkSecurity {
  const all = wpaFlags | rsnFlags;
  if ((all & KEY_PSK) !== 0) return "wpa2";
  if ((all & KEY_SAE) !== 0) return "wpa3";
  if ((all & (KEY_802_1X | KEY_SUITE_B)) !== 0) return "enterprise";
  return (flags & PRIVACY) !== 0 ? "wep" : "open";
}

/** A name of a network as a key of maps: two names are the same when all their bytes are. */
export function ssidKey(ssid: Uint8Array): string {
  return ssid.toHex();
}

export interface VisibleOptions {
  /** {@link ssidKey}s of networks that the machine has a profile of. */
  readonly known: ReadonlySet<string>;
  /** Names that are left out: the hotspot's own. */
  readonly without: ReadonlySet<string>;
}

/**
 * The networks of a scan, strongest first, each name once with its strongest access point. Networks
 * that hide their names are left out.
 */
export function visibleNetworks(
  points: readonly AccessPoint[],
  { known, without }: VisibleOptions,
): VisibleNetwork[] {
  const strongest = new Map<string, AccessPoint>();
  for (const point of points) {
    const key = ssidKey(point.ssid);
    if (point.ssid.every((byte) => byte === 0) || without.has(key)) continue;
    const before = strongest.get(key);
    if (before === undefined || before.strength < point.strength) strongest.set(key, point);
  }
  return [...strongest].map(([key, point]) => ({
    ssid: new TextDecoder().decode(point.ssid),
    ssidBytes: point.ssid,
    security: securityOf(point),
    signal: Math.min(100, Math.max(0, point.strength)),
    isKnown: known.has(key),
  })).sort((a, b) => b.signal - a.signal || a.ssid.localeCompare(b.ssid));
}

/** Whether every access point of a network that is seen takes WPA3 only; false when none is. */
export function isSaeOnly(points: readonly AccessPoint[], ssid: Uint8Array): boolean {
  const key = ssidKey(ssid);
  const own = points.filter((point) => ssidKey(point.ssid) === key);
  return own.length > 0 && own.every((point) => securityOf(point) === "wpa3");
}
