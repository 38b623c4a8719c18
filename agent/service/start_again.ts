import type { RunProgram } from "../../shared/base/process/run_program.ts";

/** systemd takes orders within milliseconds; whoever waits longer has no answer to wait for. */
const LIMIT_MS = 3_000;

/**
 * Asks systemd to start this service again as soon as it has ended, for an update of its own: the
 * pause that the unit makes after every end is for failures. Without an answer nothing is lost,
 * because the unit starts the agent after that pause.
 *
 * @param unit name of the service that started this process; undefined: none did.
 */
export async function startAgainAtOnce(unit: string | undefined, run: RunProgram): Promise<void> {
  if (!unit?.endsWith(".service")) return;
  await run("systemctl", ["--no-block", "restart", unit], LIMIT_MS);
}
