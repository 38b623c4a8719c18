import { Code, ConnectError } from "@connectrpc/connect";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** How much an organisation has stored, or what is added to that. */
export interface DataAmount {
  readonly readings: number;
  readonly readingBytes: number;
  readonly files: number;
  readonly fileBytes: number;
}

export const NOTHING: DataAmount = { readings: 0, readingBytes: 0, files: 0, fileBytes: 0 };

/** What an organisation wants of its data. */
export interface DataSettings {
  /** Days after its arrival that data is kept; null: forever. */
  readonly retentionDays: number | null;
  /** Most bytes of readings and files together; null: no limit. */
  readonly quotaBytes: number | null;
  /** Days after their capture that readings move to files; null: never. */
  readonly archiveAfterDays: number | null;
}

export async function readUsage(queries: Queries, orgId: string): Promise<DataAmount> {
  const row = await queries.selectFrom("data_usage").selectAll().where("org_id", "=", orgId)
    .executeTakeFirst();
  return row
    ? {
      readings: row.readings,
      readingBytes: row.reading_bytes,
      files: row.files,
      fileBytes: row.file_bytes,
    }
    : NOTHING;
}

export async function readSettings(queries: Queries, orgId: string): Promise<DataSettings> {
  const row = await queries.selectFrom("data_settings").selectAll().where("org_id", "=", orgId)
    .executeTakeFirst();
  return {
    retentionDays: row?.retention_days ?? null,
    quotaBytes: row?.quota_bytes ?? null,
    archiveAfterDays: row?.archive_after_days ?? null,
  };
}

export async function writeSettings(
  queries: Queries,
  orgId: string,
  { retentionDays, quotaBytes, archiveAfterDays }: DataSettings,
): Promise<void> {
  const values = {
    retention_days: retentionDays,
    quota_bytes: quotaBytes,
    archive_after_days: archiveAfterDays,
  };
  await queries.insertInto("data_settings").values({ org_id: orgId, ...values })
    .onConflict((conflict) => conflict.column("org_id").doUpdateSet(values)).execute();
}

/** Bytes that an organisation may still store; infinite without a quota. */
export async function roomFor(queries: Queries, orgId: string): Promise<number> {
  const { quotaBytes } = await readSettings(queries, orgId);
  if (quotaBytes === null) return Infinity;
  const { readingBytes, fileBytes } = await readUsage(queries, orgId);
  return Math.max(0, quotaBytes - readingBytes - fileBytes);
}

/**
 * Counts what a transaction stores.
 *
 * @throws {ConnectError} RESOURCE_EXHAUSTED when that is more than the organisation may have.
 */
export async function addUsage(
  transaction: Queries,
  orgId: string,
  added: DataAmount,
): Promise<void> {
  const { readings, readingBytes, files, fileBytes } = added;
  const total = await transaction.insertInto("data_usage").values({
    org_id: orgId,
    readings,
    reading_bytes: readingBytes,
    files,
    file_bytes: fileBytes,
  }).onConflict((conflict) =>
    conflict.column("org_id").doUpdateSet((eb) => ({
      readings: eb("data_usage.readings", "+", readings),
      reading_bytes: eb("data_usage.reading_bytes", "+", readingBytes),
      files: eb("data_usage.files", "+", files),
      file_bytes: eb("data_usage.file_bytes", "+", fileBytes),
    }))
  ).returning((eb) => [
    "reading_bytes",
    "file_bytes",
    eb.selectFrom("data_settings").select("quota_bytes").where("org_id", "=", orgId).as("quota"),
  ]).executeTakeFirstOrThrow();
  const { reading_bytes, file_bytes, quota } = total;
  if (quota !== null && reading_bytes + file_bytes > quota) throw quotaExceeded(quota);
}

/** Takes back what was counted, when data is deleted. */
export async function subtractUsage(
  transaction: Queries,
  orgId: string,
  removed: DataAmount,
): Promise<void> {
  await transaction.updateTable("data_usage").where("org_id", "=", orgId).set((eb) => ({
    readings: eb("readings", "-", removed.readings),
    reading_bytes: eb("reading_bytes", "-", removed.readingBytes),
    files: eb("files", "-", removed.files),
    file_bytes: eb("file_bytes", "-", removed.fileBytes),
  })).execute();
}

export function quotaExceeded(quotaBytes: number): ConnectError {
  return refusal(
    "QUOTA_REACHED",
    { bytes: quotaBytes },
    `the organisation may store ${quotaBytes} bytes of data, and with this it would have more; ` +
      "nothing was saved. Delete data or raise the quota (machine-cloud data settings)",
    Code.ResourceExhausted,
  );
}
