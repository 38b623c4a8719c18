import { join } from "node:path";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";

/** What one checkpoint did, in pages. */
export interface CheckpointResult {
  /** In the write-ahead log. */
  readonly log: number;
  /** Of these, in the database. */
  readonly checkpointed: number;
}

/** While the first pass works others write; the next ones have little left to do. */
const MOST_PASSES = 4;

/**
 * Moves what was written from the log of `cloud.db` into the file, each time that a byte comes on
 * standard input, until that ends. A checkpoint waits for the disk, often for 50 ms: here nobody
 * waits for it. Writers continue meanwhile.
 */
export async function runCheckpointProcess(dataDir: string): Promise<void> {
  const path = join(dataDir, "cloud.db");
  const database = connect(path, addonFor(path), false);
  try {
    database.pragma("synchronous = FULL");
    for await (const _ of Deno.stdin.readable) {
      const result = checkpoint(database);
      const line = new TextEncoder().encode(`${JSON.stringify(result)}\n`);
      for (let at = 0; at < line.length;) at += await Deno.stdout.write(line.subarray(at));
    }
  } finally {
    database.close();
  }
}

/** Until the log is empty or it has tried often enough: an empty log is begun again. */
function checkpoint(database: Database): CheckpointResult {
  let result = { log: 0, checkpointed: 0 };
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const [row] = database.pragma("wal_checkpoint(PASSIVE)") as CheckpointResult[];
    if (!row) break;
    const isDone = row.log === result.log && row.checkpointed === row.log;
    result = { log: row.log, checkpointed: row.checkpointed };
    if (isDone) break;
  }
  return result;
}
