/**
 * The release of the public server's family whose calls and files ours serve at least. Command lines
 * of the family ask what a machine reports of itself, and put modules that are being worked on onto
 * it from 0.90.0 on.
 */
export const FAMILY_VERSION = "0.90.0";

const OWN = "+machine.";

/**
 * What a server reports to the cloud: the family's release, and its own version as build metadata.
 */
export function announcedVersion(own: string): string {
  return `${FAMILY_VERSION}${OWN}${own.replaceAll(/[^0-9A-Za-z.-]/g, ".")}`;
}

/** The server's own version in what it announced; another server's version as it is. */
export function ownVersion(announced: string): string {
  const at = announced.indexOf(OWN);
  return at < 0 ? announced : announced.slice(at + OWN.length);
}
