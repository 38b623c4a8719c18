import { dirname, join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { RunProgram } from "../../../shared/base/process/run_program.ts";
import { firstLine, type SystemOutcome } from "../outcomes/system_outcome.ts";
import { DROP_IN, dropInText, isOurs, type JournaldLimits, limitsText } from "./drop_in.ts";

export interface JournaldPlace {
  /** Root of the file system. */
  readonly root: string;
  /** The agent's folder. */
  readonly dir: string;
  readonly run: RunProgram;
}

/** In the agent's folder while journald has not been restarted after a change. */
export const JOURNALD_PENDING = "etc/journald-changed";

/**
 * Makes journald's limits these: writes the drop-in, or removes it, and restarts journald if that
 * changed something, or if an earlier attempt was cut off before it.
 *
 * @throws {FileError}
 */
export async function applyJournaldLimits(
  { root, dir, run }: JournaldPlace,
  limits: JournaldLimits,
  signal?: AbortSignal,
): Promise<SystemOutcome> {
  const path = join(root, DROP_IN);
  const pending = join(dir, JOURNALD_PENDING);
  const wanted = dropInText(limits);
  const old = await readIfExists(path);
  if (old !== undefined && !isOurs(old)) {
    return { state: "failed", text: `${path} is not of machine-agent and stays as it is` };
  }
  if (old !== wanted) {
    await writeFileAtomic(pending, "");
    if (wanted === undefined) await removeIfExists(path);
    else {
      await makeFolder(dirname(path));
      await writeFileAtomic(path, wanted, { mode: 0o644 });
    }
  }
  if (await readIfExists(pending) !== undefined) {
    const answer = await run("systemctl", RESTART, undefined, signal);
    if (answer.code !== 0) {
      const why = firstLine(answer.stderr);
      return { state: "failed", text: `systemd-journald cannot be restarted: ${why}` };
    }
    await removeIfExists(pending);
  }
  return { state: "applied", text: limitsText(limits) };
}

/**
 * Removes what {@link applyJournaldLimits} made. @throws {FileError}
 *
 * @param isLive whether the system of that root runs.
 * @returns whether there was something.
 */
export async function removeJournaldLimits(
  { root, run, isLive }: Omit<JournaldPlace, "dir"> & { readonly isLive: boolean },
): Promise<boolean> {
  const path = join(root, DROP_IN);
  const text = await readIfExists(path);
  if (text === undefined || !isOurs(text)) return false;
  await removeIfExists(path);
  await Deno.remove(dirname(path)).catch(() => {}); // A folder that others use stays.
  if (isLive) await run("systemctl", RESTART);
  return true;
}

// journald reads its configuration at its start only; what programs log meanwhile waits for it.
const RESTART = ["restart", "systemd-journald.service"];

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw toFileError(error, "create the folder", path);
  }
}
