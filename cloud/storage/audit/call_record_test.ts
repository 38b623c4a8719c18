import assert from "node:assert/strict";
import { type CallRecord, currentRecord, runRecorded } from "./call_record.ts";

function newRecord(): CallRecord {
  return {
    ...{ orgId: "o", actorType: "api-key", actor: "k", action: "a", target: "{}" },
    ...{ at: new Date(0), address: "", client: "", isWritten: false },
  };
}

Deno.test("what a call leaves running does not take its record", async () => {
  const record = newRecord();
  const ended = Promise.withResolvers<void>();
  let left: Promise<CallRecord | undefined> | undefined;
  const during = await runRecorded(record, () => {
    left = ended.promise.then(() => currentRecord());
    return Promise.resolve(currentRecord());
  });
  assert.equal(during, record);
  ended.resolve();
  assert.equal(await left, undefined);
  assert.equal(currentRecord(), undefined);
});

Deno.test("a call that is refused takes its record with it", async () => {
  const ended = Promise.withResolvers<void>();
  let left: Promise<CallRecord | undefined> | undefined;
  const call = runRecorded(newRecord(), () => {
    left = ended.promise.then(() => currentRecord());
    throw new Error("refused");
  });
  await assert.rejects(call, /refused/);
  ended.resolve();
  assert.equal(await left, undefined);
});
