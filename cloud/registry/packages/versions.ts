import { compare, maxSatisfying, parse, prerelease, validRange } from "semver";
import type { PackageType } from "../../storage/database/registry_schema.ts";
import { VERSION_WORDS } from "../../../shared/registry/item_rules.ts";
import { platformRank } from "./platforms.ts";

/** What a version is chosen from. */
export interface Candidate {
  readonly version: string;
  readonly platform: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  /** Chosen only by its own name, or where there is no other. Default false. */
  readonly isDeprecated?: boolean;
}

/** What is wanted of a package. */
export interface Wanted {
  readonly type: PackageType;
  /** Exact, a range of npm (`^1.2`), `latest`, `latest-with-prerelease`; empty is `latest`. */
  readonly version: string;
  /** `os/architecture` of the host; undefined when it is not known. */
  readonly platform: string | undefined;
}

export type Choice<C extends Candidate> =
  | { readonly kind: "found"; readonly file: C }
  /** The version has files for several platforms, and nobody knows which is needed. */
  | { readonly kind: "ambiguous"; readonly files: readonly C[] }
  /** A sentence without its subject: `has no version that …`. */
  | { readonly kind: "none"; readonly problem: string };

/** Versions listed in one answer. */
const TOLD_VERSIONS = 20;

/** Chooses the file that a host gets. */
export function chooseFile<C extends Candidate>(files: readonly C[], wanted: Wanted): Choice<C> {
  const { platform } = wanted;
  const usable = files.filter((file) =>
    platform === undefined || platformRank(file.platform, platform) !== undefined
  );
  const version = chooseVersion(usable, wanted);
  if (version === undefined) return { kind: "none", problem: whyNone(files, wanted) };
  const rank = (file: C) => platform === undefined ? 0 : platformRank(file.platform, platform) ?? 0;
  const fitting = usable.filter((file) => file.version === version)
    .toSorted((a, b) => rank(a) - rank(b));
  const [best] = fitting;
  const forAll = fitting.find((file) => file.platform === "any");
  if (!best) return { kind: "none", problem: whyNone(files, wanted) };
  if (platform !== undefined || fitting.length === 1) return { kind: "found", file: best };
  return forAll ? { kind: "found", file: forAll } : { kind: "ambiguous", files: fitting };
}

function chooseVersion(files: readonly Candidate[], wanted: Wanted): string | undefined {
  const versions = [...new Set(files.map((file) => file.version))];
  if (versions.includes(wanted.version)) return wanted.version;
  const current = files.filter(({ isDeprecated }) => !isDeprecated);
  if (current.length > 0 && current.length < files.length) {
    const chosen = chooseVersion(current, wanted);
    if (chosen !== undefined) return chosen;
  }
  const numbered = versions.filter((version) => parse(version) !== null);
  switch (wanted.version) {
    case "":
    case "latest":
      // Models and maps are versioned by date or by anything; the newest is what was made last.
      return wanted.type === "module"
        ? highest(numbered.filter((version) => prerelease(version) === null))
        : files.toSorted((a, b) => a.createdAtMs - b.createdAtMs).at(-1)?.version;
    case "latest-with-prerelease":
      return highest(numbered);
    default:
      return validRange(wanted.version) === null
        ? undefined
        : maxSatisfying(numbered, wanted.version) ?? undefined;
  }
}

function highest(versions: readonly string[]): string | undefined {
  return versions.toSorted(compare).at(-1);
}

function whyNone(files: readonly Candidate[], { version, platform, type }: Wanted): string {
  if (files.length === 0) return "has no versions yet; upload one";
  const known = version === "" || VERSION_WORDS.includes(version) || validRange(version) !== null;
  if (!known && type === "module") {
    return `cannot be queried for version ${
      JSON.stringify(version)
    }; write a version, a range as ` +
      `^1.2, latest or latest-with-prerelease. There are ${listed(files)}`;
  }
  const latest = version === "" || version === "latest";
  const which = latest ? "version that is no pre-release" : `version ${version}`;
  const where = platform === undefined ? "" : ` for ${platform}`;
  return `has no ${latest && type !== "module" ? "version" : which}${where}; there are ${
    listed(files)
  }`;
}

function listed(files: readonly Candidate[]): string {
  const newestFirst = files.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  const byVersion = Map.groupBy(newestFirst, (file) => file.version);
  const told = [...byVersion].slice(0, TOLD_VERSIONS)
    .map(([version, of]) => `${version} (${of.map((file) => file.platform).join(", ")})`);
  const more = byVersion.size - told.length;
  return told.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
