import { join } from "node:path";
import { removeIfExists } from "../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";

/** In the agent's folder while a first install is not through. */
export const UNFINISHED = "etc/agent-installing";

/** What the agent and the install keep in their folder, besides versions in the cache. */
const OWN_FILES = [
  ...["bin/machine-agent", "bin/machine-agent-previous", "bin/machine-agent-guard"],
  ...["bin/machine-agent-launcher", "bin/machine-server", "bin/machine-server-previous"],
  ...["bin/machine-agent.current", "bin/machine-server.current"],
  ...["etc/agent-trial", "etc/agent-trial.damaged", "etc/agent-rolled-back", UNFINISHED],
  ...["etc/agent-window-open", "etc/agent-allows-machine-server", "etc/agent-allows-machine-agent"],
  ...["agent.lock", "status.json", "better_sqlite3.node"],
  ...["etc/enrollment.json", "etc/enrollment-key"],
  ...["etc/journald-changed", "tmp/apt-options", "tmp/apt-config"],
];
/** Databases, what SQLite keeps next to them, and copies from before updates. */
const DATABASES = /^agent(-logs)?\.db\b/;
/** Versions, and temporary files. */
const CACHED = /^\.?machine-(agent|server)\b/;
const PARTIAL = /\.part$/;

/** Removes what the agent made in its folder; a user's own files there stay. @throws {FileError} */
export async function removeOwnFiles(dir: string): Promise<void> {
  for (const name of OWN_FILES) await removeIfExists(join(dir, name));
  await removeMatching(dir, DATABASES);
  await removeMatching(join(dir, "cache"), CACHED);
  await removeMatching(join(dir, "cache", "part"), PARTIAL);
  for (const folder of ["bin", "cache/part", "cache", "tmp", "etc", ""]) {
    // Folders with something of the user's in them stay.
    await Deno.remove(join(dir, folder)).catch(() => {});
  }
}

async function removeMatching(folder: string, pattern: RegExp): Promise<void> {
  for (const name of await fileNames(folder)) {
    if (pattern.test(name)) await removeIfExists(join(folder, name));
  }
}

async function fileNames(folder: string): Promise<string[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.filter(({ isDirectory }) => !isDirectory).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw toFileError(error, "read", folder);
  }
}
