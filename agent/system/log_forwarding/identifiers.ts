/** Which lines of the journal are forwarded, by who wrote them. */
export interface Identifiers {
  /** Undefined: everybody but the excluded. */
  readonly included: ReadonlySet<string> | undefined;
  readonly excluded: ReadonlySet<string>;
}

/**
 * Reads `forward_system_logs`: names with commas between, `-` before one excludes it, `all` means
 * everybody. Names that are only excluded leave everybody else. Undefined: nothing is forwarded.
 */
export function parseIdentifiers(text: string): Identifiers | undefined {
  const names = text.split(",").map((name) => name.trim()).filter(Boolean);
  const excluded = names.filter((name) => name.startsWith("-")).map((name) => name.slice(1).trim())
    .filter(Boolean);
  const included = names.filter((name) => !name.startsWith("-"));
  if (included.length === 0 && excluded.length === 0) return undefined;
  const isAll = included.length === 0 || included.includes("all");
  return { included: isAll ? undefined : new Set(included), excluded: new Set(excluded) };
}

/** Whether lines with this identifier are wanted. */
export function wants({ included, excluded }: Identifiers, identifier: string): boolean {
  return !excluded.has(identifier) && (included === undefined || included.has(identifier));
}

/** Who is forwarded, for people. */
export function identifiersText({ included, excluded }: Identifiers): string {
  const but = excluded.size === 0 ? "" : `, but not of ${[...excluded].join(", ")}`;
  const whose = included === undefined ? "everybody" : [...included].join(", ");
  return `the journal's lines of ${whose}${but}`;
}
