import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import type {
  MLTrainingService,
  TrainingJobLogEntry,
} from "../../gen/viam/app/mltraining/v1/ml_training_pb.ts";

type Training = Pick<Client<typeof MLTrainingService>, "getTrainingJobLogs">;

/** Reads what a job wrote, each line once, also while it continues writing. */
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

function isSame(a: TrainingJobLogEntry, b: TrainingJobLogEntry): boolean {
  const timeOf = ({ time }: TrainingJobLogEntry) => time ? timestampMs(time) : 0;
  return a.message === b.message && a.level === b.level && timeOf(a) === timeOf(b);
}
