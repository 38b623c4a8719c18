import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import type { OutgoingMessage, StoredMessage } from "../storage/database/node_store.ts";
import { SharedBus } from "./shared_bus.ts";

/** Longer than the bus takes from the answer of its database to its rest, in turns of promises. */
const TURNS = 12;

function busOver(sent: string[], stored: () => StoredMessage[], clock: Clock = systemClock) {
  const looks: ((again: boolean) => void)[] = [];
  const bus = new SharedBus({
    store: {
      processId: "a",
      end: () => Promise.resolve(0),
      send(messages: readonly OutgoingMessage[]) {
        sent.push(...messages.map(({ payload }) => payload));
        return Promise.resolve();
      },
      read: (after) => Promise.resolve(stored().filter(({ seq }) => seq > after)),
      listen(look) {
        looks.push(look);
        return { [Symbol.dispose]: () => undefined };
      },
    },
    clock,
    log: memoryLogger("bus"),
  });
  return { bus, look: () => looks[0]?.(false) };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

async function rest(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("a message is sent whenever it comes, also just as those before were sent", async () => {
  for (let turn = 0; turn < TURNS; turn++) {
    const sent: string[] = [];
    const { bus } = busOver(sent, () => []);
    void bus.publish("topic", "first");
    await turns(turn);
    void bus.publish("topic", "second");
    await rest();
    assert.deepEqual(sent, ["first", "second"], `after ${turn} turns`);
  }
});

Deno.test("a notification is heeded whenever it comes, also just as all was read", async () => {
  for (let turn = 0; turn < TURNS; turn++) {
    const stored: StoredMessage[] = [];
    const { bus, look } = busOver([], () => stored);
    await bus.open();
    const got: string[] = [];
    bus.subscribe("topic", ({ payload }) => got.push(payload));
    look();
    await turns(turn);
    const message = { topic: "topic", payload: "one" };
    stored.push({ seq: 1, key: "1", from: "b", message });
    look();
    await rest();
    assert.deepEqual(got, ["one"], `after ${turn} turns`);
    await bus.close();
  }
});

Deno.test("a message whose notification was lost comes within half a second", async () => {
  const stored: StoredMessage[] = [];
  const clock = new FakeClock();
  const { bus } = busOver([], () => stored, clock);
  await bus.open();
  const got: string[] = [];
  bus.subscribe("topic", ({ payload }) => got.push(payload));
  stored.push({ seq: 1, key: "1", from: "b", message: { topic: "topic", payload: "one" } });
  await clock.advance(500);
  assert.deepEqual(got, ["one"]);
  await bus.close();
});
