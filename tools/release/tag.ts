import type { Git } from "../bundle/build_stamp.ts";

/** A tag that stands on the commit which is checked out. */
export interface ReleaseTag {
  /** `v1.2.3` */
  readonly name: string;
  /** Removes the tag, where it was made for a build that failed. */
  undo(): Promise<void>;
}

/**
 * Tags the commit that is checked out, unless it has the tag already.
 *
 * @throws {Error} with files that are changed or unknown to git, and when the tag is elsewhere
 */
export async function tagRelease(git: Git, version: string, notes: string): Promise<ReleaseTag> {
  const name = `v${version}`;
  const status = await git("status", "--porcelain");
  if (status === undefined) throw new Error("this is no checkout of git");
  if (status !== "") throw new Error(`commit or remove what is not in git:\n${status}`);
  const head = await git("rev-parse", "HEAD");
  const tagged = await git("rev-parse", "--verify", "--quiet", `refs/tags/${name}^{commit}`);
  if (tagged === head) return { name, undo: () => Promise.resolve() };
  if (tagged !== undefined) {
    throw new Error(`${name} is commit ${tagged.slice(0, 7)} already; a tag is never moved`);
  }
  const made = await git(
    "tag",
    "--annotate",
    name,
    "--cleanup=verbatim",
    "-m",
    `${name}\n\n${notes}`,
  );
  if (made === undefined) {
    throw new Error(`git tag ${name} failed; does git know your name and mail address?`);
  }
  return {
    name,
    undo: async () => {
      await git("tag", "--delete", name);
    },
  };
}
