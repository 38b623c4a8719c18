/**
 * Reads a small file by which the owner of this host gives the agent an instruction; undefined when
 * there is none, when it is another user's, or when others may write it. On Windows the access
 * list of the agent's folder sees to that.
 */
export function readOwnersWord(path: string): string | undefined {
  try {
    const { uid, mode, isFile, size } = Deno.lstatSync(path);
    if (!isFile || size > LONGEST) return undefined;
    if (Deno.build.os !== "windows") {
      const isOwners = uid === 0 || uid === Deno.uid();
      if (!isOwners || ((mode ?? 0) & 0o022) !== 0) return undefined;
    }
    return Deno.readTextFileSync(path);
  } catch {
    return undefined; // There is none, mostly; what cannot be read says nothing either.
  }
}

/** Bytes. */
const LONGEST = 4096;
