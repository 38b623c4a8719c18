import assert from "node:assert/strict";
import { Broadcast } from "./broadcast.ts";

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

Deno.test("listen() gives every listener what is sent, until the end", async () => {
  const broadcast = new Broadcast<number>();
  const signal = new AbortController().signal;
  const first = collect(broadcast.listen(signal));
  broadcast.send(1);
  const second = collect(broadcast.listen(signal));
  broadcast.send(2);
  broadcast.close();
  assert.deepEqual([await first, await second], [[1, 2], [2]]);
  assert.deepEqual(await collect(broadcast.listen(signal)), []);
});

Deno.test("listen() loses the oldest values when nobody takes them", async () => {
  const broadcast = new Broadcast<number>();
  const values = broadcast.listen(new AbortController().signal);
  for (let n = 0; n < 1_500; n++) broadcast.send(n);
  broadcast.close();
  const found = await collect(values);
  assert.deepEqual([found.length, found[0], found.at(-1)], [1_000, 500, 1_499]);
});
