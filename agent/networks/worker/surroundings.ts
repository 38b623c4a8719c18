import type {
  AccessPoint,
  NetworkDevice,
  NetworkManager,
  OwnProfile,
} from "../manager/network_manager.ts";
import { HOTSPOT_LABEL } from "../manager/profile.ts";
import { ssidKey } from "../wifi/visible_networks.ts";

/** NMDeviceState: a cable or a radio is there, and nothing is connected. */
const DISCONNECTED = 30;
const ACTIVATED = 100;

/** What NetworkManager knows at one moment. */
export interface Surroundings {
  readonly devices: readonly NetworkDevice[];
  /** All of ours, the hotspot's included. */
  readonly profiles: readonly OwnProfile[];
  /** Of all radios. */
  readonly points: readonly AccessPoint[];
  /** Paths of profiles that are connected or connecting. */
  readonly active: ReadonlySet<string>;
  /** A radio is connected to a network that is not our hotspot. */
  readonly isOnWifi: boolean;
}

export async function lookAround(manager: NetworkManager): Promise<Surroundings> {
  const devices = await manager.devices();
  const profiles = await manager.ownProfiles();
  const points: AccessPoint[] = [];
  const active = new Set<string>();
  const hotspots = new Set(
    profiles.filter(({ label }) => label === HOTSPOT_LABEL).map(({ path }) => path),
  );
  let isOnWifi = false;
  for (const device of devices) {
    if (device.type === "wifi") points.push(...await manager.accessPoints(device));
    if (device.active === undefined) continue;
    const profile = await manager.activeProfile(device.active);
    if (profile !== undefined) active.add(profile);
    const isHotspot = profile !== undefined && hotspots.has(profile);
    if (device.type === "wifi" && device.state === ACTIVATED && !isHotspot) isOnWifi = true;
  }
  return { devices, profiles, points, active, isOnWifi };
}

/** The radio for hotspot and provisioning: the one of the settings, or the first. */
export function radioOf(
  devices: readonly NetworkDevice[],
  wanted: string,
): NetworkDevice | undefined {
  return devices.filter(({ type }) => type === "wifi").sort((a, b) =>
    a.interface < b.interface ? -1 : 1
  ).find((device) => wanted === "" || device.interface === wanted);
}

const settingOf = ({ settings }: OwnProfile, section: string, key: string) =>
  settings[section]?.[key]?.value;

/** Where a profile could be connected now; undefined: nowhere. */
export function deviceFor(
  profile: OwnProfile,
  { devices, points }: Pick<Surroundings, "devices" | "points">,
): NetworkDevice | undefined {
  const isWifi = settingOf(profile, "connection", "type") === "802-11-wireless";
  const named = settingOf(profile, "connection", "interface-name");
  const fitting = devices.filter((device) =>
    device.type === (isWifi ? "wifi" : "wired") && device.state >= DISCONNECTED &&
    (named === undefined || named === device.interface)
  );
  if (!isWifi) return fitting.find(({ state }) => state === DISCONNECTED || state > ACTIVATED);
  const ssid = ssidKey(new Uint8Array(settingOf(profile, "802-11-wireless", "ssid") as Uint8Array));
  const isHidden = settingOf(profile, "802-11-wireless", "hidden") === true;
  const isSeen = points.some((point) => ssidKey(point.ssid) === ssid);
  return isSeen || isHidden ? fitting[0] : undefined;
}

/** Labels of our networks that could be connected now and are not, the best first. */
export function candidatesOf(around: Surroundings): string[] {
  const priority = (profile: OwnProfile) =>
    Number(settingOf(profile, "connection", "autoconnect-priority") ?? 0);
  return around.profiles.filter((profile) =>
    profile.label !== HOTSPOT_LABEL && !around.active.has(profile.path) &&
    deviceFor(profile, around) !== undefined
  ).sort((a, b) => priority(b) - priority(a) || (a.label < b.label ? -1 : 1))
    .map(({ label }) => label);
}

/** Networks of the settings whose interface is not there; they wait for it. */
export function waitingForInterface({ devices, profiles }: Surroundings): string[] {
  return profiles.flatMap((profile) => {
    const named = settingOf(profile, "connection", "interface-name");
    const isThere = named === undefined || devices.some((device) => device.interface === named);
    if (isThere || profile.label === HOTSPOT_LABEL) return [];
    return [`additional_networks.${profile.label} waits for the interface ${named}`];
  });
}
