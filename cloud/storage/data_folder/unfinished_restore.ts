import { existsSync } from "node:fs";
import { join } from "node:path";

/** A file in a data folder while a restore fills it. */
export const UNFINISHED_RESTORE = "restore-unfinished";

/** A restore into this folder was cut: what is in it must not be used. */
class UnfinishedRestoreError extends Error {
  override readonly name = "UnfinishedRestoreError";
}

/** @throws {UnfinishedRestoreError} with what to do. */
export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, UNFINISHED_RESTORE))) return;
  throw new UnfinishedRestoreError(
    `a restore into ${dataDir} is under way or was cut, and what is there is not whole; run ` +
      `machine-cloud restore FILE --data ${dataDir} again, or remove the folder`,
  );
}
