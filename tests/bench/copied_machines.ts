import type { Queries } from "../../cloud/storage/database/cloud_database.ts";

/**
 * Makes machines like the only one there is, straight in the database: through the API 10,000 take
 * minutes.
 *
 * @returns the ids of all main parts.
 */
export async function copyMachine(queries: Queries, count: number): Promise<string[]> {
  return await queries.transaction().execute(async (work) => {
    const machine = await work.selectFrom("machines").selectAll().executeTakeFirstOrThrow();
    const part = await work.selectFrom("parts").selectAll().executeTakeFirstOrThrow();
    const saved = await work.selectFrom("part_revisions").selectAll()
      .where("number", "=", part.revision_number).executeTakeFirstOrThrow();
    const resolved = await work.selectFrom("part_resolved").selectAll().executeTakeFirst();
    const fragments = await work.selectFrom("part_fragments").selectAll()
      .where("part_id", "=", part.id).execute();
    const ids = [part.id];
    for (let n = 1; n < count; n++) {
      const machine_id = crypto.randomUUID();
      const id = crypto.randomUUID();
      ids.push(id);
      await work.insertInto("machines").values({ ...machine, id: machine_id, name: `m${n}` })
        .execute();
      await work.insertInto("parts").values({ ...part, id, machine_id, dns_label: `m${n}-main` })
        .execute();
      await work.insertInto("part_revisions").values({ ...saved, part_id: id }).execute();
      if (resolved) {
        await work.insertInto("part_resolved").values({ ...resolved, part_id: id }).execute();
      }
      for (const fragment of fragments) {
        await work.insertInto("part_fragments").values({ ...fragment, part_id: id }).execute();
      }
    }
    return ids;
  });
}
