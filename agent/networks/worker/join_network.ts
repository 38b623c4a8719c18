import { createHash } from "node:crypto";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { DBusCallError } from "../../dbus/system_bus.ts";
import type { ChosenNetwork } from "../../provisioning/provisioning_port.ts";
import type { NetworkDevice, NetworkManager, OwnProfile } from "../manager/network_manager.ts";
import {
  type ManagedNetwork,
  profileOf,
  type ProfileSettings,
  type WifiKey,
} from "../manager/profile.ts";
import { type ConnectFailure, connectFailure } from "../wifi/connect_failure.ts";
import { isSaeOnly, ssidKey } from "../wifi/visible_networks.ts";

const LOOK_EVERY_MS = 250;
const ACTIVATED = 2;
const GONE = 4;
/** NM_DEVICE_STATE_REASON_REMOVED. */
const INTERFACE_GONE = 36;
const UNKNOWN_DEVICE = "org.freedesktop.NetworkManager.UnknownDevice";
/** A radio that was an access point sees nothing yet; it has so long to look around. */
const SCAN_MS = 8_000;
/** One that the owner typed in comes before those of the settings. */
const PERSONS_PRIORITY = 999;

const NOT_FOUND: ConnectFailure = { kind: "not-found", text: "the network was not found" };
const NO_RADIO: ConnectFailure = { kind: "other", text: "this machine has no WiFi radio" };

/** Label of the profile of a network that a person chose. */
function personsLabel(ssid: Uint8Array): string {
  return `@person-${createHash("sha256").update(ssid).digest("hex").slice(0, 16)}`;
}

/**
 * Waits until an activation has ended.
 *
 * @returns why it failed; undefined when it is connected.
 */
export async function untilConnected(
  manager: NetworkManager,
  active: string,
  device: NetworkDevice,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ConnectFailure | undefined> {
  let reason = 0;
  while (true) {
    const state = await manager.activeState(active);
    if (state === ACTIVATED) return undefined;
    const now = (await manager.devices()).find(({ path }) => path === device.path);
    if (now === undefined) return connectFailure(INTERFACE_GONE);
    // The reason is of the last change of state, and the way down has changes of its own.
    if (connectFailure(now.reason).kind !== "other") reason = now.reason;
    if (state === GONE) return connectFailure(reason === 0 ? now.reason : reason);
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

/**
 * Connects to a network that a person chose. Its profile goes to disk when it is connected; else
 * what was there before is there again.
 *
 * @returns why it failed; undefined when it is connected.
 */
export async function joinNetwork(
  manager: NetworkManager,
  chosen: ChosenNetwork,
  radio: NetworkDevice | undefined,
  powerSave: boolean | null,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ConnectFailure | undefined> {
  if (!radio) return NO_RADIO;
  const limits = { clock, signal };
  const isSeen = await scanFor(manager, radio, chosen, limits);
  if (!isSeen && !chosen.isHidden) return NOT_FOUND;
  const settings = profileOf({
    ...await networkOf(manager, radio, chosen),
    powerSave,
  });
  const label = personsLabel(chosen.ssid);
  const found = (await manager.ownProfiles()).find((profile) => profile.label === label);
  const before = found && { ...found, settings: await manager.withSecrets(found) };
  const path = before?.path ?? await manager.addProfile(settings, false);
  if (before) await manager.updateProfile(path, settings, false);
  let failure: ConnectFailure | undefined;
  try {
    failure = await connect(manager, path, radio, limits);
    // A first association fails now and then, also with the right password.
    if (failure && failure.kind !== "not-found") {
      failure = await connect(manager, path, radio, limits);
    }
    if (failure === undefined) await manager.updateProfile(path, settings, true);
  } finally {
    if (failure !== undefined || signal.aborted) await putBack(manager, path, before);
  }
  return failure;
}

/** A profile as it was; `settings` with its keys, undefined where they are not known. */
type Before = Pick<OwnProfile, "path"> & { readonly settings: ProfileSettings | undefined };
type Limits = Parameters<typeof untilConnected>[3];

async function connect(
  manager: NetworkManager,
  path: string,
  radio: NetworkDevice,
  limits: Limits,
): Promise<ConnectFailure | undefined> {
  let active: string;
  try {
    active = await manager.activate(path, radio);
  } catch (error) {
    if (!(error instanceof DBusCallError)) throw error;
    if (error.errorName === UNKNOWN_DEVICE) return connectFailure(INTERFACE_GONE);
    return { kind: "other", text: `NetworkManager does not connect: ${error.message}` };
  }
  return await untilConnected(manager, active, radio, limits);
}

/** An old profile whose key NetworkManager does not tell is of no use any more. */
async function putBack(manager: NetworkManager, path: string, before: Before | undefined) {
  if (before?.settings) await manager.updateProfile(path, before.settings, true);
  else await manager.deleteProfile(path);
}

async function scanFor(
  manager: NetworkManager,
  radio: NetworkDevice,
  { ssid, isHidden }: ChosenNetwork,
  { clock, signal }: Limits,
): Promise<boolean> {
  const key = ssidKey(ssid);
  const endMs = clock.monotonicMs() + SCAN_MS;
  const isSeen = async () =>
    (await manager.accessPoints(radio)).some((point) => ssidKey(point.ssid) === key);
  while (!await isSeen()) {
    if (clock.monotonicMs() >= endMs) return false;
    await tryScan(manager, radio, isHidden ? [ssid] : []);
    await clock.sleep(1_000, signal);
  }
  return true;
}

/** A radio that is busy refuses, and says so as an error. @returns whether it scans. */
export async function tryScan(
  manager: NetworkManager,
  radio: NetworkDevice,
  ssids: readonly Uint8Array[] = [],
): Promise<boolean> {
  try {
    await manager.requestScan(radio, ssids);
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === "DBusCallError") return false;
    throw error;
  }
}

async function networkOf(
  manager: NetworkManager,
  radio: NetworkDevice,
  { ssid, psk, isHidden }: ChosenNetwork,
): Promise<ManagedNetwork> {
  const points = await manager.accessPoints(radio);
  const secured: WifiKey = isSaeOnly(points, ssid) ? "sae" : "wpa-psk";
  return {
    label: personsLabel(ssid),
    type: "wifi",
    interface: "",
    ssid,
    key: psk === "" ? "open" : secured,
    psk,
    isHidden,
    priority: PERSONS_PRIORITY,
    address: "auto",
    gateway: "",
    dns: [],
    routeMetric: 0,
    powerSave: null,
  };
}
