import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { Deliverer } from "./deliverer.ts";
import { DELIVERY_LIMITS, SLOW_AFTER_MS } from "./delivery_queues.ts";
import type { DeliveryStore } from "./delivery_store.ts";
import type { AttemptOutcome } from "./retry_policy.ts";
import { FakeDeliveryStore } from "./fake_delivery_store.ts";

/**
 * Store, endpoints and clock answer within the turn of the event loop: what follows from what was
 * done is over when the next turn begins.
 */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A deliverer under a clock of its own; endpoints called `dead…` never answer. */
class DeadRig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly store = new FakeDeliveryStore();
  readonly sent: string[] = [];
  readonly #hanging: PromiseWithResolvers<AttemptOutcome>[] = [];
  readonly deliverer = new Deliverer({
    store: this.store as unknown as DeliveryStore,
    send: ({ endpoint }) => {
      this.sent.push(endpoint);
      if (!endpoint.startsWith("dead")) {
        return Promise.resolve({ kind: "delivered", response: "" });
      }
      const hanging = Promise.withResolvers<AttemptOutcome>();
      this.#hanging.push(hanging);
      return hanging.promise;
    },
    failed: () => Promise.resolve(),
    foreignVersion: () => 1,
    clock: this.clock,
    log: memoryLogger(),
    random: () => 0.5,
  });

  async post(...endpoints: string[]): Promise<void> {
    for (const endpoint of endpoints) this.store.add(endpoint);
    this.deliverer.wake();
    await settled();
  }

  /** What hangs is aborted. */
  async giveUp(): Promise<void> {
    const failed = { kind: "retryable", error: "no answer within 15 s", response: "" } as const;
    for (const hanging of this.#hanging.splice(0)) hanging.resolve(failed);
    await settled();
  }

  to(prefix: string): number {
    return this.sent.filter((endpoint) => endpoint.startsWith(prefix)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = this.deliverer.close();
    await this.giveUp();
    await closing;
  }
}

const dead = (count: number, each: number) =>
  Array.from({ length: count * each }, (_, n) => `dead-${n % count}`);

Deno.test("Deliverer sends to the others at once while one of a hundred endpoints is dead", async () => {
  await using rig = new DeadRig();
  for (let round = 0; round < 30; round++) {
    await rig.post("dead-0", ...Array.from({ length: 99 }, (_, n) => `well-${n}`));
    assert.equal(rig.to("well"), (round + 1) * 99);
  }
  assert.equal(rig.to("dead"), 2, "nobody knows yet whether it is there");
});

Deno.test("Deliverer lets nobody wait longer than a second for many that begin to hang", async () => {
  await using rig = new DeadRig();
  await rig.post(...dead(300, 8));
  assert.equal(rig.to("dead"), DELIVERY_LIMITS.quick);
  await rig.post("well-0");
  assert.equal(rig.to("well"), 0);
  await rig.clock.advance(SLOW_AFTER_MS);
  await settled();
  assert.deepEqual([rig.to("well"), rig.to("dead")], [1, 600]);
  await rig.post("well-1", "well-2");
  assert.equal(rig.to("well"), 3, "there is room again");
});

Deno.test("Deliverer asks what is dead one by one, and the others never wait for that", async () => {
  await using rig = new DeadRig();
  await rig.post(...dead(100, 3));
  await rig.giveUp();
  const before = rig.to("dead");
  await rig.clock.advance(10_000);
  await rig.post();
  assert.equal(rig.to("dead") - before, 100, "one each, after the pause");
  await rig.post("well-0", "well-1");
  assert.equal(rig.to("well"), 2);
});
