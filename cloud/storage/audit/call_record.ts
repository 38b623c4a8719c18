import { AsyncLocalStorage } from "node:async_hooks";
import { type RawBuilder, sql } from "kysely";

/** What the audit log will say of the call that is under way. */
export interface CallRecord {
  orgId: string;
  actorType: string;
  actor: string;
  readonly action: string;
  /** JSON object: ids and names. */
  readonly target: string;
  readonly at: Date;
  readonly address: string;
  readonly client: string;
  /** It is in the database. */
  isWritten: boolean;
  /** The call has ended: what it left running is not part of it. */
  isOver?: boolean;
}

const current = new AsyncLocalStorage<CallRecord>();

/**
 * Runs a call that changes something. The first transaction that it commits takes the record with
 * it, so that there is no change without one. What continues after its end takes nothing.
 */
export async function runRecorded<T>(record: CallRecord, work: () => T): Promise<Awaited<T>> {
  try {
    return await current.run(record, work);
  } finally {
    record.isOver = true;
  }
}

/** The record of the call that is under way; undefined in one that changes nothing. */
export function currentRecord(): CallRecord | undefined {
  const record = current.getStore();
  return record?.isOver ? undefined : record;
}

const COLUMNS = [
  "org_id",
  "at",
  "actor_type",
  "actor",
  "action",
  "target",
  "address",
  "client",
] as const;

/** Writes a record down; to be executed on the queries of a transaction. */
export function insertRecord(record: CallRecord): RawBuilder<unknown> {
  const columns = COLUMNS.map((name) => sql.ref(name));
  return sql`insert into audit_entries (${sql.join(columns)}) values (${
    sql.join(recordValues(record))
  })`;
}

/**
 * The same for drivers, which have no queries.
 *
 * @param placeholder of a parameter, by its number from 1 on
 */
export function insertRecordStatement(placeholder: (number: number) => string): string {
  const places = COLUMNS.map((_, at) => placeholder(at + 1));
  return `insert into audit_entries (${COLUMNS.join(", ")}) values (${places.join(", ")})`;
}

/** The parameters of {@link insertRecordStatement}. */
export function recordValues(record: CallRecord): (string | number)[] {
  const { orgId, at, actorType, actor, action, target, address, client } = record;
  return [orgId, at.getTime(), actorType, actor, action, target, address, client];
}
