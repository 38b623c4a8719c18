import { basename } from "node:path";
import { makeAgentMsi } from "./agent_msi.ts";
import { hasDebianPackage, makeDebianPackage } from "./debian_package.ts";
import type { PackageOptions } from "./contents.ts";
import { hasRpmPackage, makeRpmPackage } from "./rpm_package.ts";
import { isStable } from "../version.ts";

/** A compiled program. */
export interface Built {
  readonly program: string;
  /** `linux/amd64` */
  readonly platform: string;
  readonly file: string;
}

export interface Tools {
  readonly hasRpmbuild: boolean;
  readonly hasWixl: boolean;
  /** Gets a line for each thing done, or not done. */
  readonly say: (line: string) => void;
}

/**
 * Makes the packages of all programs: Debian's, RPM's where `rpmbuild` is there, and that of the
 * agent for Windows where `wixl` is there.
 *
 * @param folder where they are made
 * @returns each with its place in the download folder
 */
export async function makePackages(
  built: readonly Built[],
  folder: string,
  options: PackageOptions,
  { hasRpmbuild, hasWixl, say }: Tools,
): Promise<{ path: string; file: string }[]> {
  const packages: { path: string; file: string }[] = [];
  const add = (kind: string, file: string): void => {
    packages.push({ path: `${kind}/${basename(file)}`, file });
    say(`packed ${file}`);
  };
  const isStableVersion = isStable(options.version);
  for (const { program, platform, file: binary } of built) {
    const what = { program, platform, binary };
    if (hasDebianPackage(program, platform)) {
      add("debian", await makeDebianPackage(what, folder, options));
    }
    if (hasRpmbuild && hasRpmPackage(program, platform)) {
      add("rpm", await makeRpmPackage(what, folder, options));
    }
    const isAgent = program === "machine-agent" && platform === "windows/amd64";
    if (hasWixl && isStableVersion && isAgent) {
      add("windows", await makeAgentMsi(binary, folder, options));
    }
  }
  if (!hasRpmbuild) say("NOTICE: no RPM packages: there is no rpmbuild here (apt install rpm)");
  if (!isStableVersion) say("NOTICE: no MSI package: Windows compares no versions with a suffix");
  else if (!hasWixl) say("NOTICE: no MSI package: there is no wixl here (apt install wixl)");
  return packages;
}
