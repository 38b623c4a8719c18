import type { Queries } from "./cloud_database.ts";

/** What one process of the cloud leaves for the others. */
export type SettingName =
  | "acme_account"
  | "acme_certificate"
  | "authority"
  | "public_url"
  | "domain"
  | "key_fingerprint"
  | "token_key_fingerprint"
  | "storage_id"
  | "release_source"
  | "moved_to"
  | "steady_time";

export async function readSetting(
  queries: Queries,
  name: SettingName,
): Promise<string | undefined> {
  const row = await queries.selectFrom("settings").select("value").where("name", "=", name)
    .executeTakeFirst();
  return row?.value;
}

export async function writeSetting(
  queries: Queries,
  name: SettingName,
  value: string,
): Promise<void> {
  await queries.insertInto("settings").values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
