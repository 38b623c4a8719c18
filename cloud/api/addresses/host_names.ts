/** The names under which a part is found. */
export interface HostNames {
  /** `<machine>-<part>.<location id>.<domain>` */
  readonly fqdn: string;
  /** The name in the machine's own network. */
  readonly localFqdn: string;
}

/** What distinguishes one part from all others, as it stands in both of its names. */
export interface PartName {
  readonly dnsLabel: string;
  readonly locationId: string;
}

const LONGEST_LABEL = 63;

export function hostNames(dnsLabel: string, locationId: string, domain: string): HostNames {
  return {
    fqdn: `${dnsLabel}.${locationId}.${domain}`,
    localFqdn: `${dnsLabel}.${locationId}.local.${domain}`,
  };
}

/**
 * The part that a name means, of {@link hostNames}; a port behind it counts for nothing. Undefined
 * for names that no part has.
 */
export function partName(host: string, domain: string): PartName | undefined {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  if (!name.endsWith(`.${domain}`)) return undefined;
  const [dnsLabel, locationId, local, ...rest] = name.slice(0, -domain.length - 1).split(".");
  if (!dnsLabel || !locationId || rest.length > 0) return undefined;
  if (local !== undefined && local !== "local") return undefined;
  return { dnsLabel, locationId };
}

/**
 * A host name label for a part, different from those `taken` in its location. A part's name
 * starts with its machine's name as a rule; if not, the machine's name goes in front.
 */
export function dnsLabel(machine: string, part: string, taken: ReadonlySet<string>): string {
  const prefix = label(machine);
  const name = label(part);
  const full = name === prefix || name.startsWith(`${prefix}-`) ? name : `${prefix}-${name}`;
  const base = full.slice(0, LONGEST_LABEL - 5).replace(/-+$/, "");
  for (let n = 1;; n++) {
    const candidate = n === 1 ? base : `${base}-${n}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function label(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "x";
}
