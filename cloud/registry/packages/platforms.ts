import { PLATFORMS } from "../../../shared/registry/platforms.ts";

/**
 * How well a package for `platform` suits a host: 0 made for it, 1 for its system, 2 for all;
 * undefined: it does not run there.
 */
export function platformRank(platform: string, host: string): number | undefined {
  if (platform === host) return 0;
  if (platform === `${host.split("/")[0]}/any`) return 1;
  return platform === "any" ? 2 : undefined;
}

/**
 * Version and platform of a text like `1.0.0-linux-amd64`, by which command lines of the public API
 * request a file of a module. Undefined for a version of its own, and for one without a platform.
 */
export function withPlatform(
  text: string,
  files: readonly { readonly version: string }[],
): { readonly version: string; readonly platform: string } | undefined {
  if (files.some(({ version }) => version === text)) return undefined;
  const platform = PLATFORMS.toSorted((a, b) => b.length - a.length)
    .find((each) => text.endsWith(`-${each.replace("/", "-")}`));
  if (platform === undefined) return undefined;
  return { version: text.slice(0, -platform.length - 1), platform };
}
