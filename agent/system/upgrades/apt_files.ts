/** From the root of the file system: how often lists are fetched and upgrades installed. */
export const PERIODIC_FILE = "etc/apt/apt.conf.d/20auto-upgrades";
/** From the root of the file system: what unattended-upgrades upgrades. */
export const UPGRADES_FILE = "etc/apt/apt.conf.d/50unattended-upgrades";

const HEADER =
  "// Written by machine-agent; os_auto_upgrade_type in the machine's configuration decides.\n";

/** The text of {@link PERIODIC_FILE}. */
export function periodicText(isOn: boolean): string {
  const often = isOn ? "1" : "0";
  return `${HEADER}APT::Periodic::Update-Package-Lists "${often}";\n` +
    `APT::Periodic::Unattended-Upgrade "${often}";\n`;
}

/**
 * The text of {@link UPGRADES_FILE}.
 *
 * @param patterns as `originPatterns` makes them
 * @param options lines that the file had besides its origins, as `apt-config dump` writes them
 */
export function upgradesText(patterns: readonly string[], options: readonly string[]): string {
  const list = patterns.map((pattern) => `  "${pattern}";\n`).join("");
  const rest = options.length === 0
    ? ""
    : `// What this file held besides, before machine-agent wrote it.\n${options.join("\n")}\n`;
  return `${HEADER}Unattended-Upgrade::Origins-Pattern {\n${list}};\n${rest}`;
}

const OPTION = /^(Unattended-Upgrade|Unattended-Upgrades|Dpkg)::\S+ "[^"]*";$/i;
const ORIGINS = /^Unattended-Upgrade::(Origins-Pattern|Allowed-Origins)\b/i;

/** The options in what `apt-config dump --no-empty` says of a file, but for its origins. */
export function keptOptions(dump: string): string[] {
  return dump.split("\n").map((line) => line.trim()).filter((line) =>
    OPTION.test(line) && !ORIGINS.test(line)
  );
}
