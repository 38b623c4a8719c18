import { durationMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface RestartPollOptions {
  readonly client: Client<typeof RobotService>;
  readonly partId: string;
  /** Somebody requested a restart. */
  readonly restart: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

const QUESTION_TIMEOUT_MS = 15_000;
const SHORTEST_INTERVAL_MS = 1_000;
/** Whatever interval the cloud names: a person waits for the restart. */
const LONGEST_INTERVAL_MS = 60_000;
/** When the cloud names no interval. */
const DEFAULT_INTERVAL_MS = 5_000;
const LONGEST_RETRY_MS = 30_000;

/**
 * Queries the cloud again and again whether somebody wants the server restarted. That is a person's
 * command, so the server is not asked whether it suits.
 */
export async function pollRestarts(
  { client, partId, restart, clock, log, random = Math.random }: RestartPollOptions,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff({
    minMs: DEFAULT_INTERVAL_MS,
    maxMs: LONGEST_RETRY_MS,
    jitter: false,
  });
  const ask = async () => {
    const timeoutMs = QUESTION_TIMEOUT_MS;
    const answer = await client.needsRestart({ id: partId }, { signal, timeoutMs });
    if (answer.mustRestart) {
      log.info("the cloud requests a restart of machine-server", {
        event: "server_restart_requested",
      });
      restart();
    }
    const { restartCheckInterval: wished } = answer;
    if (!wished) return DEFAULT_INTERVAL_MS;
    return Math.min(Math.max(SHORTEST_INTERVAL_MS, durationMs(wished)), LONGEST_INTERVAL_MS);
  };
  const onFailure = (error: unknown) => {
    if (!(error instanceof ConnectError)) throw error;
    // The settings' poll shows that the cloud is away; once is enough.
    log.debug("cannot poll the cloud for restarts", { code: Code[error.code] });
  };
  const waits = { clock, intervalMs: DEFAULT_INTERVAL_MS, backoff, random, onFailure };
  await pollLoop(ask, waits, signal);
}
