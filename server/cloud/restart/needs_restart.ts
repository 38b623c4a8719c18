/** Asks the cloud whether this server must restart; only where no agent does that. */
import type { Client } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";

/** Time between two questions where the cloud names none, and the shortest it may name. */
const DEFAULT_INTERVAL_MS = 5_000;
const SHORTEST_INTERVAL_MS = 1_000;
const TIMEOUT_MS = 10_000;

export interface NeedsRestartOptions {
  client: Pick<Client<typeof RobotService>, "needsRestart">;
  partId: string;
  clock: Clock;
  log: Logger;
  onRestart: () => void;
}

/** Asks until the cloud says yes or the signal aborts. */
export async function pollNeedsRestart(
  options: NeedsRestartOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, partId, clock, log, onRestart } = options;
  let intervalMs = DEFAULT_INTERVAL_MS;
  while (!signal.aborted) {
    try {
      await clock.sleep(intervalMs, signal);
      const answer = await client.needsRestart({ id: partId }, { timeoutMs: TIMEOUT_MS, signal });
      if (answer.mustRestart) return onRestart();
      const { restartCheckInterval: wished } = answer;
      intervalMs = wished
        ? Math.max(SHORTEST_INTERVAL_MS, durationMs(wished))
        : DEFAULT_INTERVAL_MS;
    } catch (error) {
      if (signal.aborted) return;
      log.debug(`the cloud could not be asked about a restart: ${reasonOf(error)}`);
    }
  }
}
