import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { Deliverer } from "./deliverer.ts";
import type { DeliveryStore } from "./delivery_store.ts";
import { FakeDeliveryStore } from "./fake_delivery_store.ts";

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

// The clock stands still: what is not begun at once is never begun.
for (const what of ["is posted", "ends"]) {
  Deno.test(`Deliverer misses nothing that ${what} while it is about to rest`, async () => {
    for (let steps = 0; steps < 40; steps++) {
      const store = new FakeDeliveryStore();
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
