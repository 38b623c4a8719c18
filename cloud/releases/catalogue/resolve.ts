import { compare, satisfies } from "semver";
import type { Program } from "../../storage/database/release_schema.ts";
import type { KnownFile, KnownRelease } from "./known_release.ts";
import { isSelected } from "./rollout_rules.ts";
import type { VersionSelector } from "./selectors.ts";

/** The machine that asks. */
export interface AskingPart {
  readonly id: string;
  readonly tags: readonly string[];
  /** `os/architecture`; empty when it did not report it. */
  readonly platform: string;
  /** Version that it would start now; empty when unknown. */
  readonly installed: string;
}

/** What a machine is to install. */
export type Resolution =
  | {
    readonly kind: "release";
    readonly release: KnownRelease;
    readonly file: KnownFile;
    readonly pinned: boolean;
    /** Why it is not the newest one; empty when it is. */
    readonly heldBack: string;
  }
  | { readonly kind: "address"; readonly url: string; readonly sha256: string }
  /** Nothing: what is there stays. */
  | { readonly kind: "nothing"; readonly problem: string; readonly heldBack: string };

const TOLD_VERSIONS = 5;

/**
 * Decides what a machine is to install, from what its configuration requests and the releases
 * there are. A channel or a range takes a machine back only from a release that it does not offer:
 * one of another channel, one that is gone, or one that was withdrawn with that intent.
 */
export function resolve(
  program: Program,
  selector: VersionSelector,
  releases: readonly KnownRelease[],
  part: AskingPart,
): Resolution {
  const own = releases.filter((release) => release.program === program).toSorted(newestFirst);
  switch (selector.kind) {
    case "wrong":
      return nothing(`agent.version_control of ${program}: ${selector.problem}`);
    case "address":
      return { kind: "address", url: selector.url, sha256: selector.sha256 };
    case "exact":
      return exact(program, selector.version, own, part);
    case "channel":
      // A cloud that nobody gave releases has nothing to complain about.
      if (selector.isDefault && own.length === 0) return nothing("");
      return newest(program, selector, own, part);
    case "range":
      return newest(program, selector, own, part);
  }
}

/** Whether a release is one of those that a channel or a range chooses from. */
export function isOffered(release: KnownRelease, selector: VersionSelector): boolean {
  switch (selector.kind) {
    case "channel":
      return selector.channel === "dev" || release.channel === "stable";
    case "range":
      return release.channel === "stable" && satisfies(release.version, selector.range);
    default:
      return false;
  }
}

function exact(
  program: Program,
  version: string,
  own: readonly KnownRelease[],
  part: AskingPart,
): Resolution {
  const release = own.find((known) => known.version === version);
  if (!release) {
    const there = own.filter((known) => known.withdrawnAtMs === undefined)
      .slice(0, TOLD_VERSIONS).map((known) => known.version);
    const list = there.length === 0 ? "there are none yet" : `there is ${there.join(", ")}`;
    return nothing(`there is no release ${version} of ${program}; ${list}`);
  }
  if (release.withdrawnAtMs !== undefined) {
    return nothing(`release ${version} of ${program} was withdrawn`);
  }
  const file = fileFor(release, part);
  if (file) return { kind: "release", release, file, pinned: true, heldBack: "" };
  if (part.platform === "") return nothing("the machine has not reported its platform");
  const platforms = release.files.map(({ platform }) => platform).join(", ");
  return nothing(
    `release ${version} of ${program} has no file for ${part.platform}; it has ${platforms}`,
  );
}

function newest(
  program: Program,
  selector: VersionSelector,
  own: readonly KnownRelease[],
  part: AskingPart,
): Resolution {
  if (part.platform === "") return nothing("the machine has not reported its platform");
  const offered = own.filter((release) =>
    isOffered(release, selector) && fileFor(release, part) !== undefined
  );
  const standing = offered.filter((release) => release.withdrawnAtMs === undefined);
  const open = standing.find((release) => isOpen(release, part));
  const running = offered.find((release) => release.version === part.installed);
  const isAhead = running !== undefined &&
    (open === undefined || compare(running.version, open.version) > 0);
  if (isAhead && running.withdrawnAtMs !== undefined && !running.goesBack) {
    const kept =
      `release ${running.version} was withdrawn; the machine keeps it until there is a ` +
      "newer one";
    return nothing("", kept);
  }
  const choice = isAhead && running.withdrawnAtMs === undefined ? running : open;
  const [first] = standing;
  const heldBack = first && first !== choice ? whyNot(first) : "";
  if (choice) return chosen(choice, part, heldBack);
  if (standing.length > 0) return nothing("", heldBack);
  const on = selector.kind === "range"
    ? `that ${selector.asked} allows`
    : `on channel ${selector.asked}`;
  return nothing(`there is no release of ${program} ${on} for ${part.platform}`);
}

function chosen(release: KnownRelease, part: AskingPart, heldBack: string): Resolution {
  const file = fileFor(release, part);
  if (!file) throw new TypeError(`release ${release.version} was chosen without a file`);
  return { kind: "release", release, file, pinned: false, heldBack };
}

function isOpen({ id, rollout }: KnownRelease, part: AskingPart): boolean {
  return rollout === undefined || (rollout.state === "running" && isSelected(rollout, id, part));
}

function whyNot({ version, rollout }: KnownRelease): string {
  switch (rollout?.state) {
    case "paused":
      return `the rollout of ${version} is paused`;
    case "stopped":
      return `the rollout of ${version} was stopped: ${rollout.reason}`;
    default:
      return `${version} has not come to this machine yet: it is being rolled out`;
  }
}

function fileFor(release: KnownRelease, part: AskingPart): KnownFile | undefined {
  return release.files.find(({ platform }) => platform === part.platform);
}

function newestFirst(a: KnownRelease, b: KnownRelease): number {
  return compare(b.version, a.version);
}

function nothing(problem: string, heldBack = ""): Resolution {
  return { kind: "nothing", problem, heldBack };
}
