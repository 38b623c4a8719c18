/** What several nodes must share before they may serve one cloud. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../shared/base/flags/flags.ts";
import type { DataFolder } from "../storage/data_folder/data_folder.ts";
import { DataFolderInUseError } from "../storage/data_folder/serve_lock.ts";
import { BLOB_FOLDERS } from "../storage/blobs/blob_places.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";

/** What of the options of a cloud decides it. */
export interface ClusterOptions {
  readonly cluster?: boolean | undefined;
  readonly dataDir: string;
  readonly objectStorage?: S3Settings | undefined;
  readonly publicUrl?: string | undefined;
}

/**
 * Does nothing for a cloud that is to be served by one process.
 *
 * @throws {UsageError} or {DataFolderInUseError} with one line that says what would be seen by one
 * node alone, and what to set.
 */
export async function requireShared(options: ClusterOptions, folder: DataFolder): Promise<void> {
  if (!options.cluster) return;
  const { objectStorage, publicUrl, dataDir } = options;
  const refuse = (why: string) => new UsageError(`--cluster: ${why}`);
  if (folder.database.engine !== "postgres") {
    throw refuse(
      "SQLite is for one process; give --database postgres://…, and move what is there with " +
        '"machine-cloud migrate"',
    );
  }
  if (!objectStorage) {
    throw refuse(
      "other nodes do not see files in this data folder; give all of them --blob-store s3://…",
    );
  }
  if (publicUrl === undefined) {
    throw refuse("give all nodes the one address that leads to any of them with --public-url");
  }
  const own = BLOB_FOLDERS.find((name) => hasFiles(join(dataDir, name)));
  if (own !== undefined) {
    throw new DataFolderInUseError(
      `--cluster: ${join(dataDir, own)} has files that other nodes do not see; give this node an ` +
        "empty data folder with the same cloud.key, or serve with one process",
    );
  }
  const { rows } = await hasReleaseKeys(folder);
  if (rows > 0 && !existsSync(join(dataDir, "release.key"))) {
    throw new DataFolderInUseError(
      `--cluster: ${join(dataDir, "release.key")} is missing; copy it, mode 600, from the data ` +
        "folder of the node that signed the first release",
    );
  }
}

async function hasReleaseKeys({ database }: DataFolder): Promise<{ rows: number }> {
  const row = await database.queries.selectFrom("release_keys")
    .select((eb) => eb.fn.countAll<number>().as("rows")).executeTakeFirst();
  return { rows: row?.rows ?? 0 };
}

function hasFiles(folder: string): boolean {
  if (!existsSync(folder)) return false;
  return [...Deno.readDirSync(folder)].some(({ isFile }) => isFile);
}
