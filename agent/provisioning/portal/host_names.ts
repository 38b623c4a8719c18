/** Which requests are for the portal, by the name that they request. */

/** What systems ask to find out whether a network wants a sign-in; never with an effect. */
const PROBES = new Set([
  // Android, Chrome OS
  "/generate_204",
  "/gen_204",
  // iOS, macOS
  "/hotspot-detect.html",
  "/library/test/success.html",
  // Windows
  "/connecttest.txt",
  "/ncsi.txt",
  "/redirect",
  // Firefox
  "/success.txt",
  "/canonical.html",
]);

/** What a request is for. */
export type Destination =
  /** The portal itself. */
  | "portal"
  /** Another name: the system or its browser looks for the internet, and is led to the portal. */
  | "redirect"
  /** Another name where only names of ours are the portal's. */
  | "unknown";

export interface NamingOptions {
  /** The machine's own address on its hotspot. */
  readonly address: string;
  /** The port that is served; default 80. */
  readonly port?: number;
  /** `disable_captive_portal_redirect`: only names that end in `.setup` are the portal's. */
  readonly onlySetupNames: boolean;
}

/** Where a request goes, by its header Host and its path. A host that is no name is unknown. */
export function destinationOf(
  host: string | null,
  path: string,
  { address, port = 80, onlySetupNames }: NamingOptions,
): Destination {
  const found = /^([a-z0-9.-]{1,253}?)\.?(?::(\d{1,5}))?$/.exec((host ?? "").toLowerCase());
  if (!found) return "unknown";
  const [, name = "", hostPort] = found;
  const isOwn = (name === address || name.endsWith(".setup")) &&
    (hostPort === undefined ? port === 80 : Number(hostPort) === port);
  if (isOwn && !(PROBES.has(path) && !onlySetupNames)) return "portal";
  return onlySetupNames ? "unknown" : "redirect";
}
