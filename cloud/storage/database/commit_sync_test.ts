import assert from "node:assert/strict";
import { CommitSync } from "./commit_sync.ts";

/** Syncs that end when the test says so. */
function controlled() {
  const syncs: PromiseWithResolvers<void>[] = [];
  const commits = new CommitSync(() => {
    const sync = Promise.withResolvers<void>();
    syncs.push(sync);
    return sync.promise;
  });
  return { commits, syncs };
}

/** Lets everything happen that waits for nothing. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

async function isOver(promise: Promise<void>): Promise<boolean> {
  let over = false;
  promise.then(() => over = true, () => over = true);
  await turn();
  return over;
}

Deno.test("CommitSync.wait() shares one sync among all who come before it begins", async () => {
  const { commits, syncs } = controlled();
  const waiting = [commits.wait(), commits.wait(), commits.wait()];
  await turn();
  assert.equal(syncs.length, 1);
  assert.equal(await isOver(Promise.all(waiting).then(() => {})), false);
  syncs[0]?.resolve();
  await Promise.all(waiting);
});

Deno.test("CommitSync.wait() does not take a sync for its own that began before it", async () => {
  const { commits, syncs } = controlled();
  const first = commits.wait();
  await turn();
  const second = commits.wait();
  const third = commits.wait();
  await turn();
  assert.equal(syncs.length, 1);
  syncs[0]?.resolve();
  await first;
  assert.equal(await isOver(second), false);
  assert.equal(syncs.length, 2);
  syncs[1]?.resolve();
  await Promise.all([second, third]);
});

Deno.test("CommitSync.wait() rejects for those whose sync failed, and goes on", async () => {
  const { commits, syncs } = controlled();
  const first = commits.wait();
  await turn();
  const second = commits.wait();
  syncs[0]?.reject(new Error("disk is gone"));
  await assert.rejects(first, /disk is gone/);
  await turn();
  syncs[1]?.resolve();
  await second;
});
