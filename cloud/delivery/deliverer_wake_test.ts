import assert from "node:assert/strict";
import { memoryLogger } from "../../shared/log/memory_logger.ts";
import { FakeClock } from "../../shared/time/fake_clock.ts";
import { Deliverer } from "./deliverer.ts";
import type { AttemptRecord, DeliveryRow, DeliveryStore, PendingRow } from "./delivery_store.ts";

/** Notifications in memory: answers come within the same turn, so that a test can count them. */
class MemoryStore {
  readonly #rows: DeliveryRow[] = [];
  readonly recorded: AttemptRecord[] = [];

  add(endpoint: string): void {
    const seq = this.#rows.length + 1;
    const row = { seq, endpoint, next_attempt_at: 0, part_id: "p", trigger_name: "t", attempts: 0 };
    this.#rows.push(row as unknown as DeliveryRow);
  }

  pendingAfter(after: number): Promise<PendingRow[]> {
    return Promise.resolve(this.#rows.filter(({ seq }) => seq > after));
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

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

// The clock stands still: what is not begun at once is never begun.
for (const what of ["is posted", "ends"]) {
  Deno.test(`Deliverer misses nothing that ${what} while it is about to rest`, async () => {
    for (let steps = 0; steps < 40; steps++) {
      const store = new MemoryStore();
      const sent: string[] = [];
      const first = Promise.withResolvers<void>();
      const deliverer = new Deliverer({
        store: store as unknown as DeliveryStore,
        send: async ({ endpoint, seq }) => {
          sent.push(endpoint);
          if (what === "ends" && seq <= 2) await first.promise;
          return { kind: "delivered", response: "" };
        },
        failed: () => Promise.resolve(),
        foreignVersion: () => 1,
        clock: new FakeClock(),
        log: memoryLogger(),
      });
      // Two to one endpoint are under way, which is all it may have at first.
      const waiting = what === "ends" ? 3 : 0;
      for (let n = 0; n < waiting; n++) store.add("a");
      deliverer.start();
      if (what === "ends") await turn();
      store.add("b");
      if (what === "ends") deliverer.wake();
      for (let step = 0; step < steps; step++) await undefined;
      if (what === "ends") first.resolve();
      else deliverer.wake();
      await turn();
      await turn();
      const expected = what === "ends" ? ["a", "a", "a", "b"] : ["b"];
      assert.deepEqual(sent.toSorted(), expected, `${steps} steps after`);
      await deliverer.close();
    }
  });
}
