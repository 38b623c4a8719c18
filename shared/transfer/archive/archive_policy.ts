/** Which entries of an archive may be unpacked. Pure. */
import { TransferError } from "../download/transfer_error.ts";

/** What an archive may grow to. Anything above is refused. */
export interface ArchiveLimits {
  /** Entries: files, folders and links. */
  readonly entries: number;
  /** Bytes of all files and headers together, unpacked. */
  readonly bytes: number;
  /** So many times its own size may an archive grow, once it is past {@link ratioFromBytes}. */
  readonly ratio: number;
  readonly ratioFromBytes: number;
  /** Bytes of one path. */
  readonly pathBytes: number;
}

/** A Python environment has some 30,000 files; large models take a few GiB. */
export const ARCHIVE_LIMITS: ArchiveLimits = {
  entries: 200_000,
  bytes: 16 * 2 ** 30,
  ratio: 200,
  ratioFromBytes: 256 * 2 ** 20,
  pathBytes: 2_048,
};

/** More than any real chain of links; a circle has no end. */
const MOST_LINKS = 40;
/** Characters of a link's target, and of the path that it leads to; no system opens longer ones. */
const LONGEST_TARGET = 4_096;
/** Work on the links of one archive: characters of the paths on their ways, and a step's own cost. */
const MOST_FOLLOWED = 2 ** 27;
const STEP = 32;

/** An archive holds something that may not be unpacked. */
export function refused(message: string): TransferError {
  return new TransferError("refused", `the archive is refused: ${message}`);
}

/**
 * The parts of an entry's path; none for the archive's own top folder.
 *
 * @throws {TransferError} it leaves the folder, on this system or another.
 */
export function entryPath(path: string, limits: Pick<ArchiveLimits, "pathBytes">): string[] {
  const shown = JSON.stringify(path.slice(0, 200));
  if (path.length > limits.pathBytes) {
    throw refused(`the path ${shown}… is longer than ${limits.pathBytes} bytes`);
  }
  if (path.includes("\0")) throw refused(`the path ${shown} has a NUL in it`);
  if (isAbsolutePath(path)) throw refused(`the path ${shown} is absolute`);
  if (path.split(/[/\\]/).includes("..")) {
    throw refused(`the path ${shown} has .. in it and could leave its folder`);
  }
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** A link's target by the link's path, both as the archive has them. */
export type Links = ReadonlyMap<string, string>;

/**
 * Checks that no symbolic link leads out of the folder, also not through other links.
 *
 * @param fold equal for names that the file system takes for the same.
 * @throws {TransferError} with the first one that does.
 */
export function checkLinks(links: Links, fold: (name: string) => string): void {
  const byPath = new Map([...links].map(([path, target]) => [fold(path), target]));
  const budget = { left: MOST_FOLLOWED };
  for (const [path, target] of links) {
    const why = leadsOutside(path, target, { links: byPath, fold, budget });
    if (why) {
      const shown = JSON.stringify(target.slice(0, 200));
      throw refused(`the link ${JSON.stringify(path)} to ${shown} ${why}`);
    }
  }
}

function leadsOutside(
  path: string,
  target: string,
  { links, fold, budget }: {
    readonly links: Links;
    readonly fold: (name: string) => string;
    readonly budget: { left: number };
  },
): string | undefined {
  if (target.length > LONGEST_TARGET) return `is longer than ${LONGEST_TARGET} characters`;
  if (isAbsolutePath(target)) return "is absolute";
  let at = parentOf(path);
  /** What is still to be walked, the next part last. */
  const todo = target.split("/").reverse();
  for (let followed = 0; todo.length > 0;) {
    const part = todo.pop() ?? "";
    budget.left -= STEP + at.length + part.length;
    if (budget.left < 0) return "and the others take too long to follow";
    if (part === "" || part === ".") continue;
    if (part.includes("\\") || part.includes("\0")) return "has a character that is not allowed";
    if (part === "..") {
      if (at === "") return "leads out of the folder";
      at = parentOf(at);
      continue;
    }
    const here = at === "" ? part : `${at}/${part}`;
    if (here.length > LONGEST_TARGET) return "leads to a path that is too long";
    const next = links.get(fold(here));
    if (next === undefined) {
      at = here;
      continue;
    }
    if (++followed > MOST_LINKS) return "leads in a circle";
    if (next.length > LONGEST_TARGET) return "leads to a path that is too long";
    if (isAbsolutePath(next)) return "leads out of the folder";
    for (const step of next.split("/").reverse()) todo.push(step);
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function isAbsolutePath(path: string): boolean {
  return /^[/\\]/.test(path) || /^[A-Za-z]:/.test(path);
}

/** Permission bits for a file: never setuid, setgid or sticky, nobody else writes, the owner can. */
export function fileMode(mode: number | undefined): number {
  return ((mode ?? 0o644) & 0o755) | 0o600;
}
