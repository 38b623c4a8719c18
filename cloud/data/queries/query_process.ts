import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { ArchiveFiles } from "../archive/archive_files.ts";
import { ArchivePlaces } from "./archive_places.ts";
import type { QueryAnswer, QueryTask } from "./query_form.ts";
import { prepare, prepareStub, runQuery } from "./run_query.ts";

/**
 * Runs queries that come as lines on standard input, one after the other, until that ends. It
 * stands apart from the cloud so that a query that continues forever, or takes all memory, can be
 * ended; nothing else ends one inside SQLite.
 */
export async function runQueryProcess(dataDir: string): Promise<void> {
  const path = join(dataDir, "cloud.db");
  const addon = addonFor(path);
  const database = existsSync(path) ? connect(path, addon, true) : undefined;
  if (!database) await import("./remote_readings.ts"); // before the first query waits for it
  const stub = connect(":memory:", addon, false);
  for (const handle of [database, stub]) if (handle) prepare(handle);
  prepareStub(stub);
  const places = new ArchivePlaces(dataDir);
  const files = new ArchiveFiles(places);
  await answer({ kind: "ready" });
  for await (const line of linesOf(Deno.stdin.readable)) {
    const task = JSON.parse(line) as QueryTask;
    places.objects = task.objects;
    const outcome = await runQuery({ database, stub, addon, files }, task);
    await answer(outcome.answer, outcome.documents);
  }
}

async function* linesOf(input: ReadableStream<Uint8Array>): AsyncIterable<string> {
  let text = "";
  for await (const piece of input.pipeThrough(new TextDecoderStream())) {
    const lines = (text + piece).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}

async function answer(answer: QueryAnswer, documents: readonly Uint8Array[] = []): Promise<void> {
  const pieces = [new TextEncoder().encode(`${JSON.stringify(answer)}\n`), ...documents];
  await write(Buffer.concat(pieces));
}

async function write(bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
}
