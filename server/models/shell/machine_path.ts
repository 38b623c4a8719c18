import { isAbsolute, join, resolve } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";

/** Where callers' paths begin. */
export interface Folders {
  /** Home folder of the user that the server runs as. */
  readonly user: string;
  /** The server's own, `$MACHINE_HOME`. */
  readonly machine: string;
}

/** Longer than any file system takes. */
const LONGEST_PATH = 4_096;

/**
 * A path as a caller writes it: absolute, or relative to the user's home folder. It may begin with
 * `~`, or with `$MACHINE_HOME` or `$VIAM_HOME` for the server's own folder; nothing else is
 * replaced, but for the family's place of traces, `~/.viam/trace`: it is the one of this server.
 *
 * @throws {ConnectError} INVALID_ARGUMENT.
 */
export function machinePath(path: string, folders: Folders): string {
  if (path.includes("\0") || path.length > LONGEST_PATH) throw refused(path, "is no path");
  const traces = /^~[/\\]\.viam[/\\]trace(?=$|[/\\])/.exec(path)?.[0];
  if (traces !== undefined) return join(folders.machine, "traces", path.slice(traces.length));
  const special = /^(~|\$MACHINE_HOME|\$VIAM_HOME)(?:$|[/\\])/.exec(path)?.[1];
  if (special !== undefined) {
    const folder = special === "~" ? folders.user : folders.machine;
    return join(folder, path.slice(special.length));
  }
  return isAbsolute(path) ? resolve(path) : join(folders.user, path);
}

/**
 * The parts of a file's name in a copy: relative, and never out of the folder it is put in.
 *
 * @throws {ConnectError} INVALID_ARGUMENT.
 */
export function nameParts(name: string, isWindows = Deno.build.os === "windows"): string[] {
  const parts = name.split(isWindows ? /[/\\]/ : "/");
  const isWrong = (part: string) =>
    part === "" || part === "." || part === ".." || part.includes("\0") ||
    (isWindows && /[:*?"<>|]/.test(part));
  if (name.length > LONGEST_PATH || parts.some(isWrong)) {
    throw refused(name, "is not taken as a name: it must be relative and without . and ..");
  }
  return parts;
}

function refused(path: string, why: string): ConnectError {
  return new ConnectError(`${JSON.stringify(path.slice(0, 200))} ${why}`, Code.InvalidArgument);
}
