/** A repository of this host, as `apt-cache policy` shows it. */
export interface Repository {
  /** What apt prefers; below 500 it takes nothing from there automatically. */
  readonly priority: number;
  readonly origin: string;
  readonly codename: string;
  readonly archive: string;
  readonly label: string;
  /** Host name. */
  readonly site: string;
}

/** Whose packages are upgraded: those of every repository, or security updates alone. */
export type UpgradeKind = "all" | "security";

/**
 * apt installs nothing automatically from a repository of a lower priority: backports,
 * experimental.
 */
const LOWEST_PRIORITY = 500;
/** A header that a file of apt's configuration cannot hold. */
// deno-lint-ignore no-control-regex
const UNFIT = /["\u0000-\u001f\u007f]/;

/** Reads the output of `apt-cache policy` in the language C. */
export function parsePolicy(text: string): Repository[] {
  const [, files = ""] = text.split(/^Package files:$/m);
  const [listed = ""] = files.split(/^Pinned packages:$/m);
  return listed.split(/\n(?= *-?\d+ )/).flatMap(parseRepository);
}

function parseRepository(block: string): Repository[] {
  const priority = /^ *(-?\d+) \S/.exec(block.replace(/^\n/, ""))?.[1];
  if (priority === undefined) return [];
  const release = /^ *release (.*)$/m.exec(block)?.[1]?.trim() ?? "";
  // Values may hold commas; a field begins with one letter and an equals sign.
  const fields = new Map(
    release.split(/,(?=[a-z]=)/).map((field): [string, string] => [field[0] ?? "", field.slice(2)]),
  );
  const site = /^ *origin (.*)$/m.exec(block)?.[1]?.trim() ?? "";
  const value = (name: string) => fields.get(name)?.trim() ?? "";
  const names = {
    origin: value("o"),
    codename: value("n"),
    archive: value("a"),
    label: value("l"),
  };
  // What is installed, and packages from files, are listed without a repository.
  if (names.archive === "now" && names.origin === "") return [];
  return [{ priority: Number(priority), ...names, site }];
}

/**
 * The patterns of unattended-upgrades for these repositories, in an order that depends on nothing but
 * them. A repository that does not say who it is goes by its host name; one that names nothing is left
 * out.
 *
 * @param kind `security`: those whose codename, or on Ubuntu whose archive, has `security` in it.
 */
export function originPatterns(repositories: readonly Repository[], kind: UpgradeKind): string[] {
  const patterns = repositories
    .filter(({ priority }) => priority >= LOWEST_PRIORITY)
    .filter((repository) => kind === "all" || isSecurity(repository))
    .flatMap(pattern);
  return [...new Set(patterns)].sort();
}

function isSecurity({ codename, archive }: Repository): boolean {
  return codename.includes("security") || archive.includes("security");
}

function pattern({ origin, codename, archive, label, site }: Repository): string[] {
  // `stable` becomes `oldstable` one day. On Ubuntu the archive alone distinguishes the pockets of
  // a codename apart: jammy, jammy-updates, jammy-security.
  const isPocket = codename === "" || archive.startsWith(`${codename}-`) || archive === codename;
  const isNamed = origin !== "" || label !== "";
  const parts = [
    ["origin", origin],
    ["codename", codename],
    ["archive", isPocket ? archive : ""],
    ["label", label],
    ["site", isNamed ? "" : site],
  ].filter(([, value]) => value !== "");
  if (!isNamed && site === "") return [];
  if (parts.some(([, value]) => UNFIT.test(value ?? ""))) return [];
  return [parts.map(([name, value]) => `${name}=${escaped(value ?? "")}`).join(",")];
}

/** Commas end a field, and values are shell patterns in which `$` begins a variable. */
function escaped(value: string): string {
  return value.replace(/[[*?]/g, "[$&]").replaceAll(",", "\\,");
}
