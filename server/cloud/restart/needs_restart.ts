/** Queries the cloud whether this server must restart; only where no agent does that. */
import type { Client } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

/** Time between two questions where the cloud names none, and the shortest it may name. */
const DEFAULT_INTERVAL_MS = 5_000;
const SHORTEST_INTERVAL_MS = 1_000;
const TIMEOUT_MS = 10_000;
/** A cloud that is down is polled at this interval in the end, each machine at its own time. */
const LONGEST_BACKOFF_MS = 60_000;

export interface NeedsRestartOptions {
  client: Pick<Client<typeof RobotService>, "needsRestart">;
  partId: string;
  clock: Clock;
  log: Logger;
  onRestart: () => void;
  /** In [0, 1); default Math.random. */
  random?: () => number;
}

/** Polls until the cloud reports yes, which is "done", or the signal aborts. */
export async function pollNeedsRestart(
  options: NeedsRestartOptions,
  signal: AbortSignal,
): Promise<void | "done"> {
  const { client, partId, clock, log, onRestart, random = Math.random } = options;
  const intervalMs = DEFAULT_INTERVAL_MS;
  const backoff = new Backoff({ minMs: intervalMs, maxMs: LONGEST_BACKOFF_MS, random });
  const ask = async () => {
    try {
      const answer = await client.needsRestart({ id: partId }, { timeoutMs: TIMEOUT_MS, signal });
      if (answer.mustRestart) {
        onRestart();
        return "done";
      }
      backoff.reset();
      const { restartCheckInterval: wished } = answer;
      return wished ? Math.max(SHORTEST_INTERVAL_MS, durationMs(wished)) : intervalMs;
    } catch (error) {
      if (signal.aborted) return;
      log.debug(`the cloud could not be polled for a restart: ${reasonOf(error)}`);
      return intervalMs + backoff.next();
    }
  };
  return await pollLoop(ask, { clock, intervalMs, firstMs: intervalMs, random }, signal);
}
