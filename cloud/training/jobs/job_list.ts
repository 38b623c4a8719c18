import type { TrainingJobMetadata } from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { Scope } from "../../accounts/access/scope.ts";
import type { TrainingState } from "../../storage/database/training_schema.ts";
import type { JobRow } from "./jobs.ts";
import { toMetadata } from "./job_messages.ts";

/** Most jobs in one list: the newest. */
const MOST_LISTED = 10_000;

/** About 1.5 KB each. */
const KEPT_MESSAGES = 5_000;
const ROWS_PER_STATEMENT = 500;
/** In these states nothing of a job changes without `updated_at` or the state. */
const STEADY: readonly TrainingState[] = ["pending", "completed", "failed", "canceled"];

type Stamp = Pick<JobRow, "seq" | "state" | "updated_at">;

interface Kept extends Pick<Stamp, "state" | "updated_at"> {
  readonly message: TrainingJobMetadata;
}

/**
 * Lists jobs. Whoever follows a job requests the whole list again and again, in which hardly
 * anything has changed: messages are kept, and only what changed is read again. It halves the cost
 * of a list.
 */
export class JobList {
  readonly #kept = new Map<number, Kept>();

  /** Of the caller's organisation, newest first. @param state undefined: in all states */
  async list(scope: Scope, state: TrainingState | undefined): Promise<TrainingJobMetadata[]> {
    let query = scope.trainingJobs().select(["seq", "state", "updated_at"])
      .orderBy("seq", "desc").limit(MOST_LISTED);
    if (state) query = query.where("state", "=", state);
    const stamps = await query.execute();
    const found = new Map<number, TrainingJobMetadata>();
    const changed: number[] = [];
    for (const stamp of stamps) {
      const message = this.#find(stamp);
      if (message) found.set(stamp.seq, message);
      else changed.push(stamp.seq);
    }
    for (let at = 0; at < changed.length; at += ROWS_PER_STATEMENT) {
      const rows = await scope.trainingJobs().selectAll()
        .where("seq", "in", changed.slice(at, at + ROWS_PER_STATEMENT)).execute();
      for (const row of rows) found.set(row.seq, this.#keep(row));
    }
    // What was deleted in between is left out.
    return stamps.flatMap(({ seq }) => found.get(seq) ?? []);
  }

  #find({ seq, state, updated_at }: Stamp): TrainingJobMetadata | undefined {
    const kept = this.#kept.get(seq);
    return kept?.state === state && kept.updated_at === updated_at ? kept.message : undefined;
  }

  #keep(row: JobRow): TrainingJobMetadata {
    const message = toMetadata(row);
    if (!STEADY.includes(row.state)) return message;
    if (this.#kept.size >= KEPT_MESSAGES) this.#kept.clear();
    this.#kept.set(row.seq, { state: row.state, updated_at: row.updated_at, message });
    return message;
  }
}
