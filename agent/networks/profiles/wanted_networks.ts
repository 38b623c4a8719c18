import { createHash } from "node:crypto";
import type { AgentSettings } from "../../../shared/config/agent_fields.ts";
import { type Learned, NOTHING_LEARNED } from "../store/network_store.ts";
import { type ManagedNetwork, managedNetwork, type ProfileSettings } from "../manager/profile.ts";

/** Begins the labels of profiles that are not of `additional_networks`. */
const OWN_PREFIX = "@";

/** A label of `additional_networks` as profiles carry it. */
export function profileLabel(label: string): string {
  return label.startsWith(OWN_PREFIX) ? OWN_PREFIX + label : label;
}

/** Whether a profile's label is of `additional_networks`, and not of the agent's own making. */
export function isConfigured(label: string): boolean {
  return !label.startsWith(OWN_PREFIX) || label.startsWith(OWN_PREFIX + OWN_PREFIX);
}

/** The networks of the settings, with what was learned about each. */
export function wantedNetworks(
  settings: Pick<AgentSettings, "additional_networks" | "network_configuration">,
  learned: (label: string) => Learned | undefined,
): ManagedNetwork[] {
  const { wifi_power_save: powerSave } = settings.network_configuration;
  return Object.entries(settings.additional_networks).map(([name, network]) => {
    const label = profileLabel(name);
    const { isSaeOnly, isHidden } = learned(label) ?? NOTHING_LEARNED;
    const key = isSaeOnly ? "sae" : "wpa-psk";
    return { ...managedNetwork(label, network, { powerSave, key }), isHidden };
  });
}

/** Why a network of the settings cannot be used at all; undefined when it can. */
export function uselessBecause({ type, ssid }: ManagedNetwork): string | undefined {
  return type === "wifi" && ssid.length === 0 ? "it has no ssid" : undefined;
}

/** The same for the same network, whatever was learned about it. */
export function networkDigest(network: ManagedNetwork): string {
  const { ssid, ...rest } = network;
  return digestOf({ ...rest, ssid: ssid.toHex() });
}

/** Stands for the removal of a profile while these networks, and no others, are wanted. */
export function removalDigest(wanted: readonly ManagedNetwork[]): string {
  return digestOf({ removedBeside: wanted.map(networkDigest) });
}

/** NetworkManager writes these itself. */
const VOLATILE = new Set(["timestamp", "seen-bssids"]);

/** The same for the same profile, as NetworkManager reports it (that is without keys). */
export function profileDigest(settings: ProfileSettings): string {
  return digestOf(settings);
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, 32);
}

/** JSON with its names in order; bytes as hexadecimal. */
function canonical(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Uint8Array) return `"${value.toHex()}"`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([name]) => !VOLATILE.has(name)).sort(
    ([a], [b]) => a < b ? -1 : 1,
  );
  return `{${entries.map(([name, inner]) => `"${name}":${canonical(inner)}`).join(",")}}`;
}
