import type { AgentSettings } from "../../../shared/config/agent_fields.ts";
import type { AccessPoint } from "../manager/network_manager.ts";
import { type NetworkStore, NOTHING_LEARNED } from "../store/network_store.ts";
import { profileLabel } from "../profiles/wanted_networks.ts";
import { isSaeOnly, ssidKey } from "../wifi/visible_networks.ts";

/**
 * Keeps what a scan reports of the WiFi networks of the settings: WPA3 only, or never seen, which
 * is how a hidden one looks.
 *
 * @param isComplete the radios have looked around while nothing was connected.
 * @returns whether anything was new.
 */
export function learnFrom(
  points: readonly AccessPoint[],
  { additional_networks }: Pick<AgentSettings, "additional_networks">,
  store: Pick<NetworkStore, "profiles" | "saveProfile">,
  isComplete: boolean,
): boolean {
  if (points.length === 0) return false;
  const profiles = store.profiles();
  let hasLearned = false;
  const seen = new Set(points.map(({ ssid }) => ssidKey(ssid)));
  for (const [name, network] of Object.entries(additional_networks)) {
    const profile = profiles.get(profileLabel(name));
    if (network.type !== "wifi" || !profile) continue;
    const ssid = new TextEncoder().encode(network.ssid);
    const isSeen = seen.has(ssidKey(ssid));
    const before = profile.learned;
    const learned = {
      ...NOTHING_LEARNED,
      // What is out of reach now is as it was.
      isSaeOnly: isSeen ? isSaeOnly(points, ssid) : before.isSaeOnly,
      isHidden: before.isHidden || (isComplete && !isSeen),
    };
    const isNew = learned.isSaeOnly !== before.isSaeOnly || learned.isHidden !== before.isHidden;
    if (isNew) store.saveProfile({ ...profile, learned });
    hasLearned ||= isNew;
  }
  return hasLearned;
}
