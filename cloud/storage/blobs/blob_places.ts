import type { Queries } from "../database/cloud_database.ts";
import { readSetting, writeSetting } from "../database/settings.ts";
import type { Random } from "../keys/random.ts";

/** Folders of the data folder, or of the object storage, that hold large files. */
export const BLOB_FOLDERS = [
  "blobs",
  "data-archive",
  "data-exports",
  "data-files",
  "releases",
] as const;

export type BlobFolder = typeof BLOB_FOLDERS[number];

/** What distinguishes this cloud from all others in an object storage. */
export async function storageId(queries: Queries, random: Random): Promise<string> {
  // Nodes that start at once take the same one.
  return await queries.transaction().execute(async (transaction) => {
    const known = await readSetting(transaction, "storage_id");
    if (known !== undefined) return known;
    const id = random.uuid();
    await writeSetting(transaction, "storage_id", id);
    return id;
  });
}
