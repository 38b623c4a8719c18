import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { Outbox } from "./outbox.ts";
import { until } from "./wait_testing.ts";

const events = { room: () => undefined, broken: (reason: string) => assert.fail(reason) };

/** Takes a few bytes at a time, later. */
class SlowSocket {
  readonly taken: number[] = [];

  async write(bytes: Uint8Array): Promise<number> {
    const some = bytes.subarray(0, 7_000);
    const copy = [...some];
    await delay(1);
    // Still the same: nobody else may have the buffer meanwhile.
    assert.deepEqual([...some], copy);
    this.taken.push(...some);
    return some.length;
  }

  close(): void {}
}

Deno.test("a connection that is quiet keeps no buffer", async () => {
  const socket = new SlowSocket();
  const outbox = new Outbox(events);
  outbox.start(socket);
  outbox.add(Uint8Array.of(1, 2, 3));
  assert.ok(outbox.bytes.length > 0);
  await until(() => socket.taken.length === 3 && outbox.bytes.length === 0, "all");
});

Deno.test("connections that share buffers send each their own bytes, in order", async () => {
  const all = [1, 2, 3, 4].map((n) => {
    const socket = new SlowSocket();
    const outbox = new Outbox(events);
    outbox.start(socket);
    return { n, socket, outbox };
  });
  let sent = 0;
  for (const size of [3, 16_384, 5, 40_000, 20_000, 9]) {
    for (const { n, outbox } of all) outbox.add(new Uint8Array(size).fill(n));
    sent += size;
    await delay(2);
  }
  for (const { n, socket } of all) {
    await until(() => socket.taken.length === sent, `all of connection ${n}`);
    assert.ok(socket.taken.every((byte) => byte === n));
  }
});
