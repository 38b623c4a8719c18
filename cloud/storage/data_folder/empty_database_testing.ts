import { join } from "node:path";
import { SqliteDatabase } from "../database/cloud_database.ts";
import { databaseAddress } from "./database_choice.ts";

let empty: Promise<Uint8Array<ArrayBuffer>> | undefined;

/**
 * Gives a new data folder the file that a first start makes: making its tables takes 70 ms of a
 * processor, and hundreds of tests have a cloud of their own.
 */
export async function placeEmptyDatabase(dataDir: string): Promise<void> {
  if (databaseAddress(dataDir) !== undefined) return;
  empty ??= makeEmptyDatabase();
  await Deno.writeFile(join(dataDir, "cloud.db"), await empty, { createNew: true, mode: 0o600 });
}

async function makeEmptyDatabase(): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-empty-" });
  try {
    const database = SqliteDatabase.open(folder);
    await database.close();
    return await Deno.readFile(join(folder, "cloud.db"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
