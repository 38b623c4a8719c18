import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { tarGzOf, treeOf } from "../../../shared/transfer/archive/testing.ts";
import type { HttpCallers } from "../../accounts/access/http_callers.ts";
import { type ExchangeRequest, type OpenedRun, RunExchange } from "./exchange.ts";

const MODEL_BYTES = 10_000;

/** Callers who hold the key of a job, `job` or another. */
function callersOf(jobId: string | undefined): HttpCallers {
  const access = jobId === undefined
    ? { kind: "none" }
    : { kind: "scope", scope: { caller: { actor: { id: "key" }, training: { jobId } } } };
  return { accessOf: () => Promise.resolve(access) } as unknown as HttpCallers;
}

async function withRun(
  test: (it: {
    folder: string;
    run: OpenedRun;
    ask: (
      changes: Partial<ExchangeRequest> & { key?: string; body?: ExchangeRequest["body"] },
    ) => Promise<Response>;
  }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-exchange-" });
  try {
    for (const name of ["script", "dataset", "output"]) await Deno.mkdir(join(folder, name));
    await Deno.writeTextFile(join(folder, "dataset", "data.jsonl"), "{}\n");
    const exchange = new RunExchange(memoryLogger("test"));
    const run = await exchange.open({
      ...{ jobId: "job", keyId: "key" },
      scriptFolder: join(folder, "script"),
      datasetFolder: join(folder, "dataset"),
      outputFolder: join(folder, "output"),
      modelBytes: MODEL_BYTES,
    });
    await test({
      folder,
      run,
      ask: ({ key = "job", ...changes }) =>
        exchange.answer({
          ...{ jobId: "job", file: "dataset.tar.gz", method: "GET", body: null },
          ...{ header: () => undefined, peer: {} as ExchangeRequest["peer"] },
          ...changes,
        }, callersOf(key === "" ? undefined : key)),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const stream = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]).stream();
const sent = (bytes: Uint8Array<ArrayBuffer>) => ({
  method: "PUT",
  file: "model.tar.gz",
  body: stream(bytes),
});

Deno.test("RunExchange opens files for the key of the job alone, and while it runs", () =>
  withRun(async ({ ask, run }) => {
    assert.equal((await ask({ key: "" })).status, 401);
    assert.equal((await ask({ key: "other" })).status, 403);
    assert.equal((await ask({ jobId: "other", key: "other" })).status, 409);
    assert.equal((await ask({ file: "secrets" })).status, 404);
    assert.equal((await ask({ method: "PUT" })).status, 405);
    const answer = await ask({});
    assert.equal(answer.status, 200);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    assert.deepEqual([...bytes.subarray(0, 2)], [0x1f, 0x8b]);
    await run.close();
    assert.equal((await ask({})).status, 409);
  }));

Deno.test("RunExchange takes a model once, and nothing of one that cannot be used", () =>
  withRun(async ({ ask, run, folder }) => {
    const output = join(folder, "output");
    const large = new Uint8Array(MODEL_BYTES + 1);
    const escaping = tarGzOf([{ path: "../evil", content: "x" }]);
    for (
      const [bytes, status] of [
        [large, 413],
        [new Uint8Array([1, 2, 3]), 400],
        [escaping, 400],
      ] as const
    ) {
      assert.equal((await ask(sent(bytes))).status, status);
      assert.deepEqual(await treeOf(output), []);
      assert.equal(await run.hasModel(), false);
    }
    assert.equal((await ask({ ...sent(large), key: "other" })).status, 403);
    assert.equal((await ask(sent(tarGzOf([{ path: "model.tflite", content: "m" }])))).status, 200);
    assert.equal(await run.hasModel(), true);
    assert.equal((await ask(sent(tarGzOf([{ path: "late", content: "m" }])))).status, 200);
    assert.deepEqual(await treeOf(output), ["model.tflite"]);
  }));
