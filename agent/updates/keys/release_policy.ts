import { isLoopbackHost } from "../../../shared/base/net/loopback.ts";
import { compare, valid } from "semver";
import type { ProgramName } from "../updater/slot.ts";
import type { Target } from "../updater/target.ts";
import type { LowestVersions } from "./lowest_versions.ts";
import type { ReleaseKeys } from "./release_keys.ts";

export interface ReleasePolicyOptions {
  readonly keys: Pick<ReleaseKeys, "problemOf" | "arePinned">;
  readonly lowest: Pick<LowestVersions, "of">;
  /** `linux/amd64` */
  readonly platform: string;
}

/**
 * What may be installed on this machine, whoever names it and by whatever way. With `release_keys`
 * in the defaults file: releases that these keys sign, none older than what was trusted before.
 */
export class ReleasePolicy {
  readonly #options: ReleasePolicyOptions;

  constructor(options: ReleasePolicyOptions) {
    this.#options = options;
  }

  /**
   * Why a target must not be installed; undefined when it may.
   *
   * @param current the version in use, which was trusted; empty: none.
   */
  async problemOf(
    program: ProgramName,
    target: Target,
    current: string,
  ): Promise<string | undefined> {
    const lowest = await this.#options.lowest.of(program, current);
    if (target.problem !== undefined) return target.problem;
    return this.#platformProblem(program, target) ?? plaintextProblem(program, target) ??
      await this.#options.keys.problemOf(program, target) ??
      this.#ageProblem(program, target, lowest);
  }

  #platformProblem(program: ProgramName, { version, platform = "" }: Target): string | undefined {
    const own = this.#options.platform;
    if (platform === "" || platform === own) return undefined;
    return `${program} ${version} is for ${platform}, and this machine is ${own}; it is refused`;
  }

  /** A cloud without pinned keys is trusted to take machines back. */
  #ageProblem(
    program: ProgramName,
    { version }: Target,
    lowest: string | undefined,
  ): string | undefined {
    if (!this.#options.keys.arePinned) return undefined;
    if (valid(version) === null) {
      return `${program} ${version} has no version that could be compared, and the defaults file ` +
        "has release_keys; it is refused";
    }
    if (lowest === undefined || compare(version, lowest) >= 0) return undefined;
    return `${program} ${version} is older than ${lowest}, which was trusted here; it is refused. ` +
      `To go back: machine-agent allow-version ${version} --program ${program}`;
  }
}

/** Whoever sits on the way could put any program in the place of what comes without TLS. */
function plaintextProblem(
  program: ProgramName,
  { url, sha256 }: Target,
): string | undefined {
  const address = URL.parse(url);
  if (address?.protocol !== "http:" || sha256 !== "" || isLoopbackHost(address.hostname)) {
    return undefined;
  }
  return `${program} is not fetched over plain http from ${address.host}: write #sha256=HEX ` +
    "behind the address, or use https";
}
