import { valid } from "semver";

/** Whether a version goes to everybody: one with a suffix, `1.2.3-rc.1`, does not. */
export function isStable(version: string): boolean {
  return !version.includes("-");
}

/** @throws {Error} for what is no version, or one written in another way than it is compared */
export function checkVersion(version: string): void {
  if (valid(version) !== version) {
    throw new Error(`VERSION=${version} is no version; write 1.2.3 or 1.2.3-rc.1`);
  }
}

/**
 * The notes of a version: its section of the changelog, which a line `## [1.2.3] - 2026-01-31`
 * begins.
 *
 * @throws {Error} saying what the changelog lacks
 */
export function notesOf(changelog: string, version: string): { date: string; notes: string } {
  const lines = changelog.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`## [${version}]`));
  if (start === -1) {
    throw new Error(
      `CHANGELOG.md has no section ${version}: name what is under [Unreleased] ` +
        `"## [${version}] - YYYY-MM-DD", and commit it`,
    );
  }
  const [, date] = /^## \[[^\]]+\] - (\d{4}-\d{2}-\d{2})$/.exec(lines[start]!) ?? [];
  if (date === undefined) {
    throw new Error(`CHANGELOG.md, line ${start + 1}: write "## [${version}] - YYYY-MM-DD"`);
  }
  const end = lines.findIndex((line, at) => at > start && /^(## \[|\[[^\]]+\]: )/.test(line));
  const notes = lines.slice(start + 1, end === -1 ? undefined : end).join("\n").trim();
  if (notes === "") throw new Error(`CHANGELOG.md says nothing about ${version}`);
  return { date, notes };
}
