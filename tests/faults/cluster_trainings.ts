/** Training jobs of a cluster whose nodes are killed. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { Trainers } from "../training/trainers.ts";
import { CallError, type Cluster, DEADLINE } from "./cluster.ts";

/** Options of `serve`. Containers and chroots give no namespaces. */
export const TRAINING_OPTIONS = [
  ...["--training-jobs", "1", "--training-walls", "if-possible", "--training-memory", "1024"],
] as const;

/** Submits a job when the one before has ended. */
export class Trainings {
  private constructor(private readonly cluster: Cluster, private readonly trainers: Trainers) {}

  static async on(cluster: Cluster): Promise<Trainings> {
    return new Trainings(cluster, await Trainers.on(cluster));
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.trainers.ended(await this.trainers.submit("time.sleep(2); save()"));
      } catch (error) {
        // It was submitted, and the answer was lost: that job is there, and counts as well.
        if (!(error instanceof CallError) || error.status !== 409) throw error;
      }
      await sleep(100);
    }
  }

  /** The node that runs a job is killed, and the other one takes the job over. */
  async takesOver(): Promise<void> {
    const { cluster, trainers } = this;
    const id = await trainers.submit("print('started', flush=True); time.sleep(15); save()");
    await trainers.prints(id, "started");
    const leader = await cluster.leader();
    const program = cluster.program(leader);
    program.signal("SIGKILL");
    await trainers.prints(id, "attempt 2 starts");
    await program.exited;
    cluster.run(leader);
    await trainers.ends(id, "TRAINING_STATUS_COMPLETED");
    assert.match(await trainers.log(id), /the cloud was cut while this ran/);
  }

  /**
   * Every job has ended, by a model that is there once, or with what is said when the cloud was cut
   * each time that it ran.
   *
   * @returns how many made a model, and how many did not
   */
  async check(): Promise<{ completed: number; cut: number }> {
    const { database } = this.cluster;
    const query = async (sql: string) => {
      const rows = await database.query(`set search_path=machine_cloud; ${sql}`);
      return rows.split("\n").filter((row) => row !== "");
    };
    const unfinished = "select id from training_jobs where state in ('pending', 'in_progress')";
    await waitFor(async () => (await query(unfinished)).length === 0, DEADLINE);
    const other = `select state || ': ' || error_message from training_jobs where attempts > 2
      or state <> 'completed' and not (state = 'failed' and error_message like 'the cloud was cut%')`;
    assert.deepEqual(await query(other), []);
    const completed = await query(
      "select model_version from training_jobs where state = 'completed' order by 1",
    );
    const models = await query(`select f.version from package_files f
      join registry_items i on i.id = f.item_id where i.name = 'shape-model' order by 1`);
    assert.deepEqual(models, completed, "models");
    const all = await query("select id from training_jobs");
    return { completed: completed.length, cut: all.length - completed.length };
  }
}
