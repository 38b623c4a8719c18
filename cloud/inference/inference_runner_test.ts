import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { failure } from "../serve/cloud_testing.ts";
import type { BlobReader } from "../storage/blobs/blob_store.ts";
import { InferenceRunner } from "./inference_runner.ts";

function reader(): BlobReader {
  return {
    read: () => Promise.resolve(null),
    seek: () => Promise.resolve(0),
    readable: new Blob([new Uint8Array(1_000)]).stream(),
    close: () => undefined,
    [Symbol.dispose]: () => undefined,
  };
}

/** Runs a shell script in place of the process. */
async function ended(script: string, options: { limitMs?: number; limitBytes?: number } = {}) {
  const runner = new InferenceRunner({
    ...{ clock: systemClock, log: memoryLogger("inference"), ...options },
    program: { command: "/bin/sh", args: ["-c", script] },
  });
  const file = () => ({ reader: reader(), size: 1_000 });
  const input = { orgId: "o", package: file(), image: file() };
  return await failure(runner.run(input, new AbortController().signal));
}

Deno.test({
  name: "InferenceRunner.run() bounds time and memory, and says so when the process fails",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const slow = await ended("cat > /dev/null; exec sleep 60", { limitMs: 200 });
    assert.equal(slow.code, Code.DeadlineExceeded);
    const large = await ended("cat > /dev/null; exec sleep 60", { limitBytes: 1 });
    assert.equal(large.code, Code.ResourceExhausted);
    assert.equal((await ended("exit 1")).code, Code.Unavailable);
    assert.equal((await ended("cat > /dev/null; echo nothing")).code, Code.Unavailable);
    const refused = await ended(`cat > /dev/null; echo '{"kind":"refused","message":"no"}'`);
    assert.deepEqual([refused.code, refused.message], [Code.InvalidArgument, "no"]);
  },
});
