import { join } from "node:path";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** Rows of the cloud's queues that wait. */
export async function queueLengths(queries: Queries): Promise<Record<string, number>> {
  const [deliveries, jobs] = await Promise.all([
    queries.selectFrom("deliveries").select((eb) => eb.fn.countAll<number>().as("count"))
      .where("state", "=", "pending").executeTakeFirst(),
    queries.selectFrom("training_jobs").select(["state", (eb) => eb.fn.countAll<number>().as("n")])
      .where("state", "not in", ["completed", "failed", "canceled"]).groupBy("state").execute(),
  ]);
  return {
    deliveries: deliveries?.count ?? 0,
    ...Object.fromEntries(jobs.map(({ state, n }) => [`training_${state}`, n])),
  };
}

/** Notifications that were finished since a time, by how they ended. */
export async function finishedDeliveries(
  queries: Queries,
  sinceMs: number,
): Promise<Record<string, number>> {
  const rows = await queries.selectFrom("deliveries")
    .select(["state", (eb) => eb.fn.countAll<number>().as("n")])
    .where("finished_at", "is not", null).where("finished_at", ">=", sinceMs)
    .groupBy("state").execute();
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}

/** Bytes of the databases of a data folder, each with its WAL. */
export async function databaseBytes(dataDir: string): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for (const name of ["cloud.db", "logs.db"]) {
    let bytes = 0;
    for (const suffix of ["", "-wal"]) {
      const path = join(dataDir, name + suffix);
      bytes += await Deno.stat(path).then(({ size }) => size, () => 0); // none there has no bytes
    }
    sizes[name] = bytes;
  }
  return sizes;
}
