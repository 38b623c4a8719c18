import type { BuildStamp } from "../../shared/base/build_info/build_info.ts";

/** Runs git and returns its trimmed output, or undefined when it fails or is not there. */
export type Git = (...args: string[]) => Promise<string | undefined>;

/** A {@link Git} that works on a checkout. */
export function gitIn(root: string): Git {
  return async (...args) => {
    try {
      const output = await new Deno.Command("git", {
        args: ["-C", root, ...args],
        stdin: "null",
        stderr: "null",
      }).output();
      return output.success ? new TextDecoder().decode(output.stdout).trim() : undefined;
    } catch {
      return undefined;
    }
  };
}

/**
 * Asks git for what goes into `-version`.
 *
 * @param declared version in deno.json, used where no release tag says otherwise.
 */
export async function readStamp(git: Git, declared: string): Promise<BuildStamp> {
  const commit = await git("rev-parse", "--short=7", "HEAD") ?? "unknown";
  const described = await git("describe", "--tags", "--match", "v[0-9]*", "--long", "--dirty");
  const status = await git("status", "--porcelain", "--untracked-files=no");
  return {
    version: versionFrom(described, declared),
    commit: status ? `${commit}-dirty` : commit,
  };
}

/** When the commit was made; the start of 1980, which every archive can hold, where git says nothing. */
export async function commitTime(git: Git): Promise<Date> {
  const seconds = Number(await git("log", "-1", "--format=%ct") || "315532800");
  return new Date(seconds * 1000);
}

/**
 * Version from `git describe --long`. On a tag it is the tag. After a tag it is a pre-release of
 * the next patch (`v1.2.3-4-gabc1234` is `1.2.4-dev.4`), so that it sorts after the release it
 * was made from and before the next one.
 */
export function versionFrom(described: string | undefined, declared: string): string {
  const match = described?.match(/^v(\d+\.\d+)\.(\d+)([-+][^ ]*?)?-(\d+)-g[0-9a-f]+(?:-dirty)?$/);
  if (!match) return declared;
  const [, minor, patch, suffix = "", ahead] = match;
  if (ahead === "0") return `${minor}.${patch}${suffix}`;
  return suffix.startsWith("-")
    ? `${minor}.${patch}${suffix}.dev.${ahead}`
    : `${minor}.${Number(patch) + 1}-dev.${ahead}`;
}
