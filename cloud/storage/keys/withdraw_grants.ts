import type { Queries } from "../database/cloud_database.ts";
import type { ResourceType } from "../database/schema.ts";

/**
 * Takes away what keys and people may do with a thing that is deleted; a key that opened nothing else ends. Call
 * it in the transaction that deletes the thing.
 */
export async function withdrawGrants(
  queries: Queries,
  { resource, id }: { readonly resource: ResourceType; readonly id: string },
  now: Date,
): Promise<void> {
  await queries.deleteFrom("user_grants")
    .where("resource_type", "=", resource).where("resource_id", "=", id).execute();
  const held = await queries.selectFrom("api_key_grants").select("key_id").distinct()
    .where("resource_type", "=", resource).where("resource_id", "=", id).execute();
  if (held.length === 0) return;
  const keys = held.map((row) => row.key_id);
  await queries.deleteFrom("api_key_grants")
    .where("resource_type", "=", resource).where("resource_id", "=", id).execute();
  const left = queries.selectFrom("api_key_grants").select("key_id");
  await queries.updateTable("api_keys").set({ deleted_at: now.getTime() })
    .where("id", "in", keys).where("id", "not in", left).where("deleted_at", "is", null).execute();
}
