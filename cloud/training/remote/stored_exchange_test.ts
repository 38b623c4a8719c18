import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { tarGzOf, treeOf } from "../../../shared/transfer/archive/testing.ts";
import type { HttpCallers } from "../../accounts/access/http_callers.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { type AddressedBlobs, StoredExchange } from "./stored_exchange.ts";

const MODEL_BYTES = 10_000;
const KEY = "11111111-1111-4111-8111-111111111111";
const HOUR_MS = 3_600_000;

const callers = (jobId: string) =>
  ({
    accessOf: () =>
      Promise.resolve({
        kind: "scope",
        scope: { caller: { actor: { id: KEY }, training: { jobId } } },
      }),
  }) as unknown as HttpCallers;

/** Two nodes that share a storage: one opens a run, the other one is asked. */
async function withNodes(
  test: (it: {
    trains: StoredExchange;
    output: string;
    open: (signal?: AbortSignal) => ReturnType<StoredExchange["open"]>;
    blobs: AddressedBlobs;
    dataset: string;
    put: (bytes: Uint8Array<ArrayBuffer>, jobId?: string) => Promise<number>;
    ask: (method: string, file: string) => Promise<number>;
    stored: () => Promise<string[]>;
  }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-exchange-" });
  try {
    for (const name of ["script", "dataset", "output", "blobs"]) {
      await Deno.mkdir(join(folder, name));
    }
    await Deno.writeTextFile(join(folder, "dataset", "data.jsonl"), "{}\n");
    const files = await FolderBlobStore.open(join(folder, "blobs"));
    const blobs: AddressedBlobs = Object.assign(files, {
      addressOf: (id: string, seconds: number) => Promise.resolve(`blob:${id}?${seconds}`),
    });
    const options = { blobs, modelBytes: MODEL_BYTES, random: systemRandom };
    const node = () => new StoredExchange({ ...options, log: memoryLogger("test") });
    const [trains, other] = [node(), node()];
    const output = join(folder, "output");
    const answer = async (request: object, jobId = "job") => {
      const peer = {} as never;
      const whole = { jobId: "job", header: () => undefined, peer, body: null, ...request };
      return (await other.answer(whole as never, callers(jobId))).status;
    };
    await test({
      ...{ trains, output, blobs, dataset: join(folder, "dataset") },
      open: (signal = new AbortController().signal) =>
        trains.open(
          {
            ...{ jobId: "job", keyId: KEY, modelBytes: MODEL_BYTES, outputFolder: output },
            scriptFolder: join(folder, "script"),
            datasetFolder: join(folder, "dataset"),
          },
          HOUR_MS,
          signal,
        ),
      put: (bytes, jobId) =>
        answer({ method: "PUT", file: "model.tar.gz", body: new Blob([bytes]).stream() }, jobId),
      ask: (method, file) => answer({ method, file }),
      stored: async () => (await treeOf(join(folder, "blobs"))).filter((name) => /-.*-/.test(name)),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("StoredExchange brings a model that another node took to the one that trains", () =>
  withNodes(async ({ open, put, ask, stored, output }) => {
    const run = await open();
    const names = Object.keys(run.addresses).sort();
    assert.deepEqual(names, ["dataset.tar.gz", "script.tar.gz"]);
    for (const address of Object.values(run.addresses)) assert.match(address, /\?3600$/);
    assert.equal((await stored()).length, 2);
    assert.equal(await run.hasModel(), false);
    assert.equal(await put(new Uint8Array(MODEL_BYTES + 1)), 413);
    const model = tarGzOf([{ path: "model.tflite", content: "m" }]);
    assert.equal(await put(model, "another job"), 403);
    assert.equal(await ask("GET", "dataset.tar.gz"), 404);
    assert.equal(await ask("PUT", "dataset.tar.gz"), 405);
    assert.equal(await run.hasModel(), false);
    assert.equal(await put(model), 200);
    assert.equal(await run.hasModel(), true);
    assert.deepEqual(await treeOf(output), ["model.tflite"]);
    await run.close();
    assert.deepEqual(await stored(), []);
  }));

Deno.test("StoredExchange says that a model cannot be used", () =>
  withNodes(async ({ open, put }) => {
    const run = await open();
    assert.equal(await put(tarGzOf([{ path: "../evil", content: "x" }])), 200);
    await assert.rejects(run.hasModel(), /the model cannot be used/);
    await run.close();
  }));

Deno.test("StoredExchange sends nothing more of a dataset whose run was stopped", () =>
  withNodes(async ({ open, stored, blobs, dataset }) => {
    const image = new Uint8Array(4 * 1024 * 1024);
    for (let at = 0; at < image.length; at += 65_536) {
      crypto.getRandomValues(image.subarray(at, at + 65_536));
    }
    await Deno.writeFile(join(dataset, "image"), image);
    const stop = new AbortController();
    let after = 0;
    const { receive } = FolderBlobStore.prototype;
    async function* watched(contents: AsyncIterable<Uint8Array>) {
      for await (const piece of contents) {
        if (stop.signal.aborted) after += piece.length;
        if (piece.length >= 65_536) stop.abort(new Error("canceled"));
        yield piece;
      }
    }
    Object.assign(blobs, {
      receive: (id: string, contents: AsyncIterable<Uint8Array>, limit: number) =>
        receive.call(blobs as unknown as FolderBlobStore, id, watched(contents), limit),
    });
    await assert.rejects(open(stop.signal), /canceled/);
    assert.equal(after, 0);
    assert.deepEqual(await stored(), []);
  }));

Deno.test("StoredExchange removes what a killed node left, and nothing of a run that continues", () =>
  withNodes(async ({ open, put, stored, trains }) => {
    const killed = await open();
    const later = new Date(Date.now() + 2 * HOUR_MS);
    assert.equal(await put(tarGzOf([{ path: "model", content: "m" }])), 200);
    assert.equal(await trains.sweep(() => Promise.resolve(false), later), 0);
    assert.equal((await stored()).length, 3);
    await killed.close();
    assert.equal(await put(tarGzOf([{ path: "model", content: "m" }])), 200);
    assert.equal(await trains.sweep((id) => Promise.resolve(id === KEY), later), 0);
    assert.equal(await trains.sweep(() => Promise.resolve(false), later), 1);
    assert.deepEqual(await stored(), []);
  }));
