import type { ArchiveWriterOptions } from "./archive_writer.ts";

/** A backup of the database that is younger finds all files that it names. */
const REPLACED_STAYS_MS = 30 * 24 * 3_600_000;

/** Removes files of readings that nothing names any more. @returns how many */
export async function sweepArchive(
  { queries, files }: Pick<ArchiveWriterOptions, "queries" | "files">,
  now: Date,
): Promise<number> {
  await queries.deleteFrom("replaced_files")
    .where("at", "<", now.getTime() - REPLACED_STAYS_MS).execute();
  const isKnown = async (id: string) => {
    for (const table of ["archived_files", "replaced_files"] as const) {
      const row = await queries.selectFrom(table).select("id").where("id", "=", id)
        .executeTakeFirst();
      if (row) return true;
    }
    return false;
  };
  return await files.sweep(isKnown, now);
}
