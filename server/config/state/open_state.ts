import { existsSync } from "node:fs";
import { join } from "node:path";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { moveSqlite } from "../../../shared/base/store/copy.ts";
import { openAlsoWhenFull } from "../../../shared/base/store/full_disk.ts";
import { type Database, StoreError } from "../../../shared/base/store/sqlite.ts";
import { serverMigrations } from "./schema.ts";

/**
 * Opens the server's state whatever a disk left of it: nobody may be able to reach the machine.
 *
 * - On a disk that is full to the last byte it is opened for this process alone: what is there can
 *   be read, and the machine works with it.
 * - A damaged one goes aside as `server.db.damaged`, and an empty one takes its place: the machine
 *   gets its configuration from the cloud again, packages are fetched again, and captured data that
 *   is sent twice is stored once.
 *
 * @param home the state folder; made when it is not there.
 * @throws {FileError} or {StoreError}, also for the state of a newer version, which is left as it is.
 */
export async function openServerState(home: string, log: Logger): Promise<Database> {
  try {
    Deno.mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw toFileError(error, "make the state folder", home);
  }
  const path = join(home, "server.db");
  try {
    return open(path, log);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const aside = `${path}.damaged`;
    if (existsSync(path)) await moveSqlite(path, aside);
    log.error("the server's state is damaged and was moved aside; it starts empty", {
      event: "state_damaged",
      error,
      aside,
    });
    return open(path, log);
  }
}

function open(path: string, log: Logger): Database {
  const options = { name: "server", migrations: serverMigrations, synchronous: "FULL" } as const;
  return openAlsoWhenFull(path, options, (error) => {
    log.error("the server's state cannot be written; free some space", {
      event: "state_not_written",
      error,
    });
  });
}

function isDamaged(error: unknown): error is StoreError {
  return error instanceof StoreError && ["corrupt", "not-a-database"].includes(error.code);
}
