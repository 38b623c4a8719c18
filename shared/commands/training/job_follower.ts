import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type {
  MLTrainingService,
  TrainingJobLogEntry,
  TrainingJobMetadata,
} from "../../gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { Clock } from "../../base/time/clock.ts";
import { JobLogReader } from "./job_log_reader.ts";
import { hasEnded } from "./job_texts.ts";

type Training = Pick<Client<typeof MLTrainingService>, "getTrainingJob" | "getTrainingJobLogs">;

/** How often a job is looked at. */
const EVERY_MS = 1_000;
/** A cloud may be away for so long, for a new version of it, before following it stops. */
const LONGEST_ABSENCE_MS = 120_000;

/**
 * Stays until a job has ended, and does not mind that the cloud is started again meanwhile.
 *
 * @param onLine gets each line that it writes; left out: nobody reads them
 * @returns what it is in the end
 */
export async function followJob(
  training: Training,
  id: string,
  clock: Clock,
  onLine?: (line: TrainingJobLogEntry) => Promise<void>,
): Promise<TrainingJobMetadata> {
  const reader = new JobLogReader(training, id);
  let lastAnswerMs = clock.monotonicMs();
  for (;;) {
    try {
      // Asked before the logs are read: what ended by then has written everything.
      const { metadata } = await training.getTrainingJob({ id });
      if (onLine) { for await (const line of reader.newLines()) await onLine(line); }
      if (metadata && hasEnded(metadata)) return metadata;
      lastAnswerMs = clock.monotonicMs();
    } catch (error) {
      const awayMs = clock.monotonicMs() - lastAnswerMs;
      const isAway = error instanceof ConnectError && error.code === Code.Unavailable;
      if (!isAway || awayMs > LONGEST_ABSENCE_MS) throw error;
    }
    await clock.sleep(EVERY_MS);
  }
}
