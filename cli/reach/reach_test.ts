import assert from "node:assert/strict";
import { LastingWay, type Reached } from "./reach.ts";

Deno.test("LastingWay reaches a machine again when the connection to it ended, or was refused", async () => {
  const dialled: PromiseWithResolvers<unknown>[] = [];
  const closed: number[] = [];
  let isAway = false;
  const dial = () => {
    const over = Promise.withResolvers<unknown>();
    const n = dialled.push(over);
    if (isAway) return Promise.reject(new Error("it cannot be reached"));
    const dispose = () => Promise.resolve(void closed.push(n));
    const machine = { closed: over.promise, [Symbol.asyncDispose]: dispose };
    return Promise.resolve(machine as unknown as Reached);
  };
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
  const way = new LastingWay(dial);

  const first = await way.machine();
  assert.equal(await way.machine(), first);
  dialled[0]?.resolve("closed by the peer");
  await turn();
  isAway = true;
  await assert.rejects(way.machine(), /cannot be reached/);
  isAway = false;
  await turn();
  const again = await way.machine();

  assert.notEqual(again, first);
  assert.equal(await way.machine(), again);
  assert.equal(dialled.length, 3);
  await way[Symbol.asyncDispose]();
  assert.deepEqual(closed, [1, 3]);
});
