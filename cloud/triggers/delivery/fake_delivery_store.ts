import type { AttemptRecord, DeliveryRow, PendingRow } from "./delivery_store.ts";

/** Notifications in memory; answers come within the same turn. For tests that do not wait. */
export class FakeDeliveryStore {
  readonly #rows: DeliveryRow[] = [];
  readonly recorded: AttemptRecord[] = [];

  add(endpoint: string): void {
    const seq = this.#rows.length + 1;
    const of = { part_id: "p", trigger_name: "t", expires_at: Number.MAX_SAFE_INTEGER };
    const row = { ...of, seq, endpoint, next_attempt_at: 0, attempts: 0 };
    this.#rows.push(row as unknown as DeliveryRow);
  }

  pendingAfter(after: number): Promise<PendingRow[]> {
    return Promise.resolve(this.#rows.filter(({ seq }) => seq > after));
  }

  allPendingAfter(after: number): Promise<PendingRow[]> {
    return this.pendingAfter(after);
  }

  pendingOf(): Promise<PendingRow[]> {
    return Promise.resolve([]);
  }

  read(seqs: readonly number[]): Promise<DeliveryRow[]> {
    return Promise.resolve(this.#rows.filter(({ seq }) => seqs.includes(seq)));
  }

  record(records: readonly AttemptRecord[]): Promise<void> {
    this.recorded.push(...records);
    return Promise.resolve();
  }
}
