import { toError } from "../../../shared/base/errors/to_error.ts";
import { join } from "node:path";
import type { RunProgram } from "../../../shared/base/process/run_program.ts";
import { removeJournaldLimits } from "../journald/journald_limits.ts";
import { KeptOriginals } from "../originals/kept_originals.ts";

export interface PutBackOptions {
  /** Root of the file system. */
  readonly root: string;
  /** The agent's folder, as the machine sees it. */
  readonly dir: string;
  /** Whether the system of that root runs. */
  readonly isLive: boolean;
  readonly run: RunProgram;
  /** Gets one line for each thing done. */
  readonly say: (line: string) => void;
}

/**
 * Takes back what the agent changed of the operating system. What cannot be is reported. Never
 * rejects.
 */
export async function putSystemBack(options: PutBackOptions): Promise<void> {
  const { root, dir, isLive, run, say } = options;
  const switchOff = async (timer: string) => {
    const where = isLive ? ["disable", "--now"] : [`--root=${root}`, "disable"];
    await run("systemctl", [...where, timer]);
  };
  try {
    for (const line of await new KeptOriginals(root, join(root, dir)).putBack(switchOff)) say(line);
    if (await removeJournaldLimits({ root, run, isLive })) say("journald has its own limits again");
  } catch (error) {
    say(`the system is not as it was: ${toError(error).message}`);
  }
}
