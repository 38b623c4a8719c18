/** Our HTTP/2 client against hyper-h2, on which modules of the published Python SDK run. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Http2Channel } from "../../shared/rpc/client/http2_channel.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";

const SERVER = fileURLToPath(new URL("echo_server.py", import.meta.url));
const DEADLINE_MS = 90_000;

/** The server in a process of its own, and two channels to it. */
async function withServer(
  test: (channel: Http2Channel, another: Http2Channel) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = join(folder, "s.sock");
  const process = new Deno.Command(await ensurePythonSdk(), {
    args: [SERVER, path],
    env: { PYTHONDONTWRITEBYTECODE: "1" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const channels = [new Http2Channel(`unix:${path}`), new Http2Channel(`unix:${path}`)] as const;
  try {
    const output = process.stdout.getReader();
    const { value } = await output.read();
    assert.equal(new TextDecoder().decode(value).trim(), "serving");
    output.releaseLock();
    await test(...channels);
  } finally {
    for (const channel of channels) channel.close();
    process.kill("SIGKILL");
    await process.stdout.cancel();
    await process.status;
    await Deno.remove(folder, { recursive: true });
  }
}

const call = (method: string, signal: AbortSignal = AbortSignal.timeout(DEADLINE_MS)) => ({
  path: `/test.Echo/${method}`,
  metadata: new Metadata(),
  signal,
});
const bytes = (size: number, fill = 7) => new Uint8Array(size).fill(fill);
const text = (answer: Uint8Array) => new TextDecoder().decode(answer);

Deno.test("Http2Channel speaks with hyper-h2: sizes up to 4 MB both ways, errors", async () => {
  await withServer(async (channel) => {
    for (const size of [0, 1, 70_000, 4_000_000]) {
      const answer = await channel.call(call("One"), bytes(size));
      assert.equal(answer.length, size);
      assert.ok(answer.every((byte) => byte === 7));
    }
    await assert.rejects(
      channel.call(call("One"), new TextEncoder().encode("fail")),
      (error: ConnectError) =>
        error.code === Code.DataLoss && error.rawMessage === "dérangé: 100 %",
    );
  });
});

Deno.test("Http2Channel speaks with hyper-h2: more calls at a time than it takes", async () => {
  await withServer(async (channel) => {
    const sizes = Array.from({ length: 300 }, (_, n) => 100 * n);
    const answers = await Promise.all(
      sizes.map((size, n) => channel.call(call("One"), bytes(size, n % 256))),
    );
    assert.deepEqual(answers.map(({ length }) => length), sizes);
    assert.ok(answers.every((answer, n) => answer.every((byte) => byte === n % 256)));
    assert.equal(channel.inFlight, 0);
  });
});

Deno.test("Http2Channel speaks with hyper-h2: a stream both ways, slower read than sent", async () => {
  await withServer(async (channel, calls) => {
    const requests = async function* () {
      for (let n = 0; n < 100; n++) yield bytes(50_000, n);
    };
    const { messages } = await channel.stream(call("Many"), requests());
    const fills: number[] = [];
    for await (const message of messages) {
      fills.push(message[0]!);
      assert.equal(message.length, 50_000);
      // Not on the same connection: what that server hasn't read yet of one stream holds up all.
      await calls.call(call("One"), bytes(1));
    }
    assert.deepEqual(fills, Array.from({ length: 100 }, (_, n) => n));
  });
});

Deno.test("Http2Channel speaks with hyper-h2: cancelled calls end there, others go on", async () => {
  await withServer(async (channel) => {
    const controllers = Array.from({ length: 20 }, () => new AbortController());
    const waiting = controllers.map(({ signal }) => channel.call(call("Wait", signal), bytes(1)));
    const ends = waiting.map((one) =>
      assert.rejects(one, (error: ConnectError) => error.code === Code.Canceled)
    );
    await channel.call(call("One"), bytes(1));
    for (const controller of controllers) controller.abort();
    await Promise.all(ends);
    await waitFor(
      async () => text(await channel.call(call("Cancelled"), bytes(0))) === "20",
      { deadlineMs: DEADLINE_MS, what: "the end of all calls" },
    );
  });
});
