import { dirname } from "node:path";
import { fsErrorCode } from "../../shared/base/files/fs_error.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { anyChange } from "../../shared/workers/watched.ts";
import { FAILURES_BEFORE_LEAVE } from "../server/maintenance/maintenance_window.ts";
import type { ServerSupervisor } from "../server/supervision/supervisor.ts";
import type { InstalledVersion } from "../state/agent_state.ts";
import { hashOf } from "../updates/downloads/cached_files.ts";
import type { Updater } from "../updates/updater/updater.ts";

export interface ReplaceDamagedOptions {
  readonly supervisor: Pick<ServerSupervisor, "state">;
  /** The server's. */
  readonly update: Pick<Updater, "chosen" | "trusted" | "lose">;
  /** Nothing outside is touched. */
  readonly cacheDir: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A server that fails on and on is read no more often: that is hundreds of megabytes. */
const READ_EVERY_MS = 60 * 60_000;

/**
 * Looks at the file of a server that fails again and again. One that a worn memory card has damaged
 * never works again, and is the wanted version all the same: it is removed and fetched again.
 */
export async function replaceDamaged(
  { supervisor, update, cacheDir, clock, log }: ReplaceDamagedOptions,
  signal: AbortSignal,
): Promise<void> {
  let readMs = -Infinity;
  while (true) {
    const state = supervisor.state.value;
    const fails = state.kind === "backing-off" && state.failures >= FAILURES_BEFORE_LEAVE;
    const { trusted, chosen } = update;
    const isDue = clock.monotonicMs() - readMs >= READ_EVERY_MS;
    // One on trial goes back on its own.
    if (fails && isDue && trusted && trusted.path === chosen?.path) {
      readMs = clock.monotonicMs();
      const damage = dirname(trusted.path) === cacheDir ? await damageOf(trusted) : undefined;
      if (damage !== undefined) {
        const { path } = trusted;
        log.error(`the installed machine-server ${damage}; it is fetched again`, {
          event: "server_damaged",
          path,
        });
        await Deno.remove(path).catch(() => {}); // or it is gone already
        await update.lose(path);
        // What runs next may be damaged, too.
        readMs = -Infinity;
      }
    }
    await anyChange([supervisor.state], signal);
  }
}

/** What is wrong with the file of a version, as the rest of a sentence; undefined: nothing is known. */
async function damageOf({ path, url, sha256 = "" }: InstalledVersion): Promise<string | undefined> {
  // For a script on this host there is a launcher with a hash of its own.
  if (sha256 === "" || url.startsWith("file:")) return undefined;
  try {
    // Where the links alone are known, these are its first digits.
    return (await hashOf(path)).startsWith(sha256) ? undefined : "is damaged";
  } catch (error) {
    const code = fsErrorCode(error);
    if (code === "ENOENT") return "is not there any more";
    return code === "EIO" ? "cannot be read any more" : undefined;
  }
}
