import { homebrewFormula } from "./homebrew.ts";
import { scoopManifest } from "./scoop.ts";
import { readSums, TITLES } from "./sums.ts";
import { wingetManifests } from "./winget.ts";

/**
 * The files by which package managers find a release, made of its SHA256SUMS.
 *
 * @param url where the download folder is served: `https://downloads.example`
 * @param date day of the release, `2026-01-31`
 * @returns texts by path: `homebrew/machine.rb`, `winget/Machine.Machine.yaml`,
 *   `scoop/machine.json` …
 * @throws {Error} for an address that packages cannot be fetched from
 */
export function packageManagerFiles(
  { sums, version, date, url }: { sums: string; version: string; date: string; url: string },
): Record<string, string> {
  const input = readSums(sums, version, url);
  const files: Record<string, string | undefined> = {};
  for (const program of Object.keys(TITLES)) {
    files[`homebrew/${program}.rb`] = homebrewFormula(program, input);
    files[`scoop/${program}.json`] = scoopManifest(program, input);
  }
  for (const [name, text] of Object.entries(wingetManifests(input, date))) {
    files[`winget/${name}`] = text;
  }
  return Object.fromEntries(
    Object.entries(files).flatMap(([path, text]) => text === undefined ? [] : [[path, text]]),
  );
}
