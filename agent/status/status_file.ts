import { join } from "node:path";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { AgentFacts, AgentReport } from "./report.ts";
import { statusLine } from "./status_line.ts";

/** Path of the file in the agent's folder. */
export function statusPath(dir: string): string {
  return join(dir, "status.json");
}

export interface StatusFileOptions {
  readonly dir: string;
  readonly facts: () => AgentFacts;
  readonly process: AgentReport["process"];
  /** Gets a line at each change, for the service manager. */
  readonly tell: (line: string) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A change is written after this at the latest. */
const LOOK_EVERY_MS = 1_000;
/** What only counts on (bytes, a trial's end) is written no more often: memory cards wear out. */
const PROGRESS_EVERY_MS = 10_000;

/**
 * Keeps `status.json` in step with what the agent knows: written at changes, whole, and readable by
 * its owner alone.
 */
export async function keepStatusFile(
  { dir, facts, process, tell, clock, log }: StatusFileOptions,
  signal: AbortSignal,
): Promise<void> {
  const path = statusPath(dir);
  let written = { text: "", steady: "", atMs: -Infinity };
  let isFailing = false;
  let told = "";
  while (true) {
    const now = facts();
    const next = { text: JSON.stringify(now), steady: steadyText(now), atMs: clock.monotonicMs() };
    const isDue = next.steady !== written.steady ||
      next.text !== written.text && next.atMs - written.atMs >= PROGRESS_EVERY_MS;
    const line = statusLine(now);
    if (line !== told) tell(told = line);
    if (isDue) {
      const written_at = clock.now().toISOString();
      const report: AgentReport = { format: 1, written_at, process, ...now };
      try {
        await writeFileAtomic(path, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
        isFailing = false;
      } catch (error) {
        // A full disk must not fill the log as well.
        if (!isFailing) {
          log.warn("the agent's status cannot be written", { event: "state_not_written", error });
        }
        isFailing = true;
      }
      written = next;
    }
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

/** All that counts as a change. */
function steadyText(facts: AgentFacts): string {
  const steady = ({ agent, server }: AgentFacts) =>
    [agent, server].map((program) => ({ ...program, bytes_downloaded: 0, trial_until: null }));
  return JSON.stringify({ ...facts, agent: steady(facts)[0], server: steady(facts)[1] });
}
