import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type {
  MLTrainingService,
  TrainingJobLogEntry,
  TrainingJobMetadata,
} from "../../gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { Clock } from "../../base/time/clock.ts";
import { hasEnded } from "./job_texts.ts";

type Training = Pick<Client<typeof MLTrainingService>, "getTrainingJob" | "getTrainingJobLogs">;

/** How often a job is looked at. */
const EVERY_MS = 1_000;
/** A cloud may be away for so long, for a new version of it, before following it is given up. */
const LONGEST_ABSENCE_MS = 120_000;

/** Reads what a job wrote, each line once, also while it goes on writing. */
export class JobLogReader {
  /** Of the page that was the last one. */
  #token = "";
  /** Lines of that page that were given already, and the last of them. */
  #seen = 0;
  #last: TrainingJobLogEntry | undefined;

  constructor(private readonly training: Training, private readonly id: string) {}

  /** The lines that have come since the last call. */
  async *newLines(): AsyncIterable<TrainingJobLogEntry> {
    for (;;) {
      const answer = await this.training.getTrainingJobLogs({
        id: this.id,
        pageToken: this.#token,
      });
      for (const line of answer.logs.slice(this.#known(answer.logs))) {
        yield line;
        this.#last = line;
      }
      if (answer.nextPageToken === "") {
        this.#seen = answer.logs.length;
        return;
      }
      this.#token = answer.nextPageToken;
      this.#seen = 0;
      this.#last = undefined;
    }
  }

  /** How many lines of a page were given; the cloud may have left out some in the meantime. */
  #known(lines: readonly TrainingJobLogEntry[]): number {
    const last = this.#last;
    if (!last) return 0;
    const before = lines[this.#seen - 1];
    if (before && isSame(before, last)) return this.#seen;
    return lines.findLastIndex((line) => isSame(line, last)) + 1;
  }
}

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

function isSame(a: TrainingJobLogEntry, b: TrainingJobLogEntry): boolean {
  const timeOf = ({ time }: TrainingJobLogEntry) => time ? timestampMs(time) : 0;
  return a.message === b.message && a.level === b.level && timeOf(a) === timeOf(b);
}
