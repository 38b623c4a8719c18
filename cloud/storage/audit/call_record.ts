import { AsyncLocalStorage } from "node:async_hooks";

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
}

const current = new AsyncLocalStorage<CallRecord>();

/**
 * Runs a call that changes something. The first transaction that it commits takes the record with
 * it, so that there is no change without one.
 */
export function runRecorded<T>(record: CallRecord, work: () => T): T {
  return current.run(record, work);
}

/** The record of the call that is under way; undefined in one that changes nothing. */
export function currentRecord(): CallRecord | undefined {
  return current.getStore();
}

export const INSERT_RECORD = "insert into audit_entries " +
  "(org_id, at, actor_type, actor, action, target, address, client) values (?, ?, ?, ?, ?, ?, ?, ?)";

/** The parameters of {@link INSERT_RECORD}. */
export function recordValues(record: CallRecord): (string | number)[] {
  const { orgId, at, actorType, actor, action, target, address, client } = record;
  return [orgId, at.getTime(), actorType, actor, action, target, address, client];
}
