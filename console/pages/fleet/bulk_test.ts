import assert from "node:assert/strict";
import { retagged, tagsOf, workOnAll } from "./bulk.ts";

Deno.test("workOnAll() goes on after failures, and never does more at a time than asked for", async () => {
  let running = 0;
  let most = 0;
  const progress: number[] = [];
  const { failures, done, undos } = await workOnAll([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    if (item % 2 === 0) throw new Error(`no ${item}`);
    return item === 3 ? () => Promise.resolve() : undefined;
  }, (finished) => progress.push(finished));
  assert.deepEqual(failures.map(({ item }) => item), [2, 4]);
  assert.deepEqual([most, progress], [2, [1, 2, 3, 4, 5]]);
  assert.deepEqual([done, undos.map(({ item }) => item)], [3, [3]]);
});

Deno.test("workOnAll() begins nothing any more once it is over", async () => {
  const over = new AbortController();
  const begun: number[] = [];
  const { done } = await workOnAll(
    [1, 2, 3, 4],
    1,
    (item) => {
      begun.push(item);
      if (item === 2) over.abort();
      return Promise.resolve();
    },
    () => undefined,
    over.signal,
  );
  assert.deepEqual([begun, done], [[1, 2], 2]);
});

Deno.test("retagged() keeps other metadata and other tags", () => {
  const metadata = { owner: "ann", tags: ["a", "b", "a"] };
  assert.deepEqual(retagged(metadata, ["c", "a"], ["b"]), { owner: "ann", tags: ["a", "c"] });
  assert.deepEqual(retagged({ tags: 7 }, ["x"], []), { tags: ["x"] });
  assert.deepEqual(tagsOf(" a, b c ,,a"), ["a", "b c"]);
});
