import { removeIfExists, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { join } from "node:path";

/** What NetworkManager's shared mode starts its dnsmasq with. */
export const DNSMASQ_FOLDER = "/etc/NetworkManager/dnsmasq-shared.d";
const FILE = "80-machine-agent.conf";

/** Which names lead to the machine for those on its hotspot. */
export function redirectRules(address: string, onlySetup: boolean): string {
  return `# Written by machine-agent while its hotspot is up.\naddress=/${
    onlySetup ? ".setup" : "#"
  }/${address}\n`;
}

/**
 * Makes names lead to the machine; for the next start of a hotspot.
 *
 * @throws {FileError}
 */
export async function writeRedirects(
  folder: string,
  address: string,
  onlySetup: boolean,
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  await writeFileAtomic(join(folder, FILE), redirectRules(address, onlySetup), { mode: 0o644 });
}

/** Hotspots and shared connections of other people are to know nothing of it. */
export async function removeRedirects(folder: string): Promise<void> {
  await removeIfExists(join(folder, FILE));
}
