import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { DataSyncService } from "../../gen/viam/app/datasync/v1/data_sync_pb.ts";
import { ResourceNameSchema } from "../../gen/viam/common/v1/common_pb.ts";
import {
  EchoResponseSchema,
  TestEchoService,
} from "../../gen/viam/component/testecho/v1/testecho_pb.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import type { CallOutcome, Interceptor } from "../server/interceptor.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import { mountReflection } from "../server/reflection.ts";
import { RpcRouter } from "../server/router.ts";
import { rejection } from "../testing.ts";
import type { DataChannelServerOptions } from "./server.ts";
import { echoRouter, patterned, serveEcho } from "./testing.ts";
import { MULTIPLE, multiple } from "./messages_testing.ts";
import { createDataChannelTransport, DataChannelCalls } from "./transport.ts";
import { readRequest, responseFrame, responseMessageFrames } from "./frames.ts";
import { channelPair } from "../../rtc/webrtc/channel_testing.ts";

/** Both ends, with clients of what is served. */
function connect(options: Partial<DataChannelServerOptions> = {}) {
  const both = serveEcho(options);
  const transport = createDataChannelTransport(both.client);
  return {
    ...both,
    transport,
    echo: createClient(TestEchoService, transport),
    sync: createClient(DataSyncService, transport),
  };
}

async function* upload(...lengths: number[]) {
  for (const length of lengths) {
    yield {
      uploadPacket: { case: "fileContents" as const, value: { data: patterned(length) } },
    };
  }
}

/** Without an end, in turns with everything else that runs. */
async function* uploadOn() {
  for (;;) {
    yield* upload(1_000);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

async function* messages(...all: string[]) {
  for (const message of all) yield { message };
}

/** Sends these and then nothing, without an end. */
async function* endless(...all: string[]) {
  yield* messages(...all);
  await new Promise(() => {});
}

async function collect(answers: AsyncIterable<{ message: string }>): Promise<string[]> {
  const all: string[] = [];
  for await (const { message } of answers) all.push(message);
  return all;
}

const until = (condition: () => unknown, what: string) =>
  waitFor(condition, { deadlineMs: 60_000, everyMs: 1, what });

Deno.test("createDataChannelTransport() makes all four kinds of calls, also with long messages", async () => {
  const { echo, sync, served } = connect();
  for (const message of ["a", "", "x".repeat(1_000_000)]) {
    assert.equal((await echo.echo({ message })).message, message);
  }
  const long = await collect(echo.echoMultiple({ message: "a 200000 b" }));
  assert.deepEqual(long.map(({ length }) => length), [1, 200_000, 1]);
  assert.equal((await sync.fileUpload(upload(70_000, 0, 140_000))).binaryDataId, "210000");
  assert.equal((await sync.fileUpload(upload())).binaryDataId, "0");
  assert.deepEqual(await collect(echo.echoBiDi(messages("a", "b", "c"))), ["a", "b", "c"]);
  assert.equal(served.activeCalls, 0);
});

Deno.test("createDataChannelTransport() talks both ways at once", async () => {
  const { echo } = connect();
  const say = Promise.withResolvers<string>();
  const requests = async function* () {
    yield { message: "first" };
    yield { message: await say.promise };
  };
  const heard: string[] = [];
  for await (const { message } of echo.echoBiDi(requests())) {
    heard.push(message);
    say.resolve("second");
  }
  assert.deepEqual(heard, ["first", "second"]);
});

Deno.test("createDataChannelTransport() gives an error with its code, details and metadata", async () => {
  const detail = { desc: ResourceNameSchema, value: { name: "pin" } };
  const router = new RpcRouter().service(TestEchoService, {
    echo: (_request, context) => {
      context.responseTrailer.set("x-end", "there");
      throw new ConnectError("dérangé: 100 %", Code.DataLoss, undefined, [detail]);
    },
  });
  const { echo } = connect({ router });
  const error = await rejection(echo.echo({}));
  assert.deepEqual([error.code, error.rawMessage], [Code.DataLoss, "dérangé: 100 %"]);
  assert.equal(error.findDetails(ResourceNameSchema)[0]?.name, "pin");
  assert.equal(error.metadata.get("x-end"), "there");
});

Deno.test("createDataChannelTransport() hands out what came before a stream failed, then its error", async () => {
  const { echo } = connect();
  const heard: string[] = [];
  const error = await rejection((async () => {
    for await (const { message } of echo.echoMultiple({ message: "a b fail c" })) {
      heard.push(message);
    }
  })());
  assert.equal(error.code, Code.DataLoss);
  assert.deepEqual(heard, ["a", "b"]);
});

Deno.test("createDataChannelTransport() carries metadata both ways", async () => {
  const { echo } = connect();
  let header = new Headers();
  let trailer = new Headers();
  const raw = Buffer.from([0, 1, 255]).toString("base64");
  await echo.echo({ message: "headers" }, {
    headers: { "X-Ask": "asked", "raw-bin": raw },
    onHeader: (headers) => header = headers,
    onTrailer: (trailers) => trailer = trailers,
  });
  assert.deepEqual([header.get("x-ask"), header.get("raw-bin")], ["asked", raw]);
  assert.equal(trailer.get("x-end"), "there");
});

Deno.test("DataChannelCalls keeps one header of an answer, and nothing of one that failed", async () => {
  const [client, server] = channelPair();
  const message = "x".repeat(24 * 1_024 * 1_024);
  const answer = toBinary(EchoResponseSchema, create(EchoResponseSchema, { message }));
  server.onMessage = (bytes) => {
    const { id, type } = readRequest(bytes) ?? {};
    if (id === undefined || type?.case !== "headers") return;
    for (const value of ["first", "again"]) {
      const metadata = { md: { "x-header": { values: [value] } } };
      server.send(responseFrame(id, { case: "headers", value: { metadata } }));
    }
    for (const frame of responseMessageFrames(id, answer)) server.send(frame);
    const status = { code: Code.DataLoss, message: "lost" };
    server.send(responseFrame(id, { case: "trailers", value: { status } }));
  };
  const echo = createClient(TestEchoService, createDataChannelTransport(client));
  // Three such answers are more than all calls of a channel may hold.
  for (let n = 0; n < 3; n++) {
    let header: string | null = "";
    const onHeader = (headers: Headers) => header = headers.get("x-header");
    const error = await rejection(Array.fromAsync(echo.echoMultiple({}, { onHeader })));
    assert.deepEqual([error.code, header], [Code.DataLoss, "first"]);
    assert.equal((await rejection(echo.echo({}))).code, Code.DataLoss);
  }
});

Deno.test("createDataChannelTransport() refuses what can't be sent, before it is", async () => {
  const { echo, seen } = connect();
  const headers = { long: "x".repeat(70_000) };
  assert.equal((await rejection(echo.echo({}, { headers }))).code, Code.ResourceExhausted);
  const message = "x".repeat(MAX_MESSAGE_BYTES);
  assert.equal((await rejection(echo.echo({ message }))).code, Code.ResourceExhausted);
  assert.deepEqual(seen.begun, []);
  assert.equal((await echo.echo({ message: "alive" })).message, "alive");
});

Deno.test("serveDataChannel() refuses an answer that is too large, and lives", async () => {
  const { echo } = connect();
  const error = await rejection(echo.echo({ message: String(MAX_MESSAGE_BYTES) }));
  assert.equal(error.code, Code.ResourceExhausted);
  const largest = await echo.echo({ message: String(MAX_MESSAGE_BYTES - 5) });
  assert.equal(largest.message.length, MAX_MESSAGE_BYTES - 5);
});

Deno.test("createDataChannelTransport() cancels a call whenever its signal aborts", async (t) => {
  const { echo, sync, served, seen, client } = connect();
  await t.step("before it is made", async () => {
    const signal = AbortSignal.abort();
    assert.equal((await rejection(echo.echo({ message: "a" }, { signal }))).code, Code.Canceled);
    assert.deepEqual(seen.begun, []);
  });
  const moments: [string, (signal: AbortSignal) => Promise<unknown>, () => unknown][] = [
    [
      "while the handler works",
      (signal) => echo.echo({ message: "wait 1" }, { signal }),
      () => seen.begun.includes("wait 1"),
    ],
    [
      "while the handler makes a message",
      (signal) => collect(echo.echoMultiple({ message: "a wait-2" }, { signal })),
      () => seen.begun.includes("a wait-2"),
    ],
    [
      "while the handler waits for requests",
      (signal) => collect(echo.echoBiDi(endless("b"), { signal })),
      () => seen.begun.includes("b"),
    ],
    [
      "while requests are sent",
      (signal) => sync.fileUpload(uploadOn(), { signal }),
      () => served.activeCalls === 1,
    ],
  ];
  for (const [name, call, begun] of moments) {
    await t.step(name, async () => {
      const leave = new AbortController();
      const failed = rejection(call(leave.signal));
      await until(begun, "the call");
      leave.abort();
      assert.equal((await failed).code, Code.Canceled);
      await until(() => served.activeCalls === 0, "the end of the call at the server");
    });
  }
  await t.step("while its request waits for room", async () => {
    client.held = true;
    const leave = new AbortController();
    const call = rejection(echo.echo({ message: "y".repeat(1e6) }, { signal: leave.signal }));
    await until(() => client.bufferedBytes > 200_000, "a full channel");
    leave.abort();
    assert.equal((await call).code, Code.Canceled);
    client.held = false;
    assert.equal((await echo.echo({ message: "after" })).message, "after");
    assert.equal(served.activeCalls, 0);
  });
  assert.deepEqual(seen.aborted.sort(), ["wait 1", "wait-2"]);
  assert.ok(!seen.begun.some((message) => message.startsWith("y")));
});

Deno.test("DataChannelCalls cancels a stream whose reader stops", async () => {
  const { client, served, seen } = serveEcho();
  const calls = new DataChannelCalls(client);
  const { signal } = new AbortController();
  const request = async function* () {
    yield multiple("a b wait");
  };
  const outgoing = { path: MULTIPLE, metadata: new Metadata(), signal };
  const { messages } = await calls.stream(outgoing, request());
  for await (const _ of messages) break;
  await until(() => served.activeCalls === 0, "the end of the call");
  assert.deepEqual(seen.aborted, ["wait"]);
});

Deno.test("createDataChannelTransport() cancels at the deadline, and notifies the server", async () => {
  const { echo, served, seen } = connect();
  const error = await rejection(echo.echo({ message: "wait" }, { timeoutMs: 30 }));
  assert.equal(error.code, Code.DeadlineExceeded);
  const stream = await rejection(
    collect(echo.echoMultiple({ message: "a wait-2" }, { timeoutMs: 30 })),
  );
  assert.equal(stream.code, Code.DeadlineExceeded);
  await until(() => served.activeCalls === 0, "the end of the calls");
  assert.deepEqual(seen.aborted.sort(), ["wait", "wait-2"]);
});

Deno.test("createDataChannelTransport() ends calls with UNAVAILABLE when the channel closes", async () => {
  for (const side of ["client", "server"] as const) {
    const ended: (CallOutcome["code"])[] = [];
    const watch: Interceptor = { after: (_call, { code }) => void ended.push(code) };
    const both = connect({ interceptors: [watch] });
    const { echo, seen, served } = both;
    const calls = [
      rejection(echo.echo({ message: "wait" })),
      rejection(collect(echo.echoMultiple({ message: "a wait" }))),
      rejection(collect(echo.echoBiDi(endless("wait")))),
    ];
    await until(() => seen.begun.length === 3, "the calls");
    both[side].close();
    for (const call of calls) assert.equal((await call).code, Code.Unavailable);
    assert.equal((await rejection(echo.echo({ message: "later" }))).code, Code.Unavailable);
    await until(() => seen.aborted.length === 3, "the handlers to learn of it");
    assert.equal(served.activeCalls, 0);
    assert.deepEqual(ended, Array(3).fill(Code.Canceled));
  }
});

Deno.test("ServedDataChannel.close() ends streams, lets calls finish, then ends what is left", async () => {
  const go = Promise.withResolvers<void>();
  const router = new RpcRouter().service(TestEchoService, {
    async echo({ message }) {
      await (message === "finishes" ? go.promise : new Promise(() => {}));
      return { message };
    },
    async *echoMultiple(_request, { signal }) {
      yield { message: "first" };
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal)));
    },
  });
  const { echo, served } = connect({ router });
  const finishes = echo.echo({ message: "finishes" });
  const hangs = rejection(echo.echo({ message: "hangs" }));
  const stream = rejection(collect(echo.echoMultiple({})));
  await until(() => served.activeCalls === 3, "the calls");
  const closed = served.close(200);
  assert.equal((await stream).code, Code.Unavailable);
  assert.equal((await rejection(echo.echo({ message: "new" }))).code, Code.Unavailable);
  go.resolve();
  assert.equal((await finishes).message, "finishes");
  await closed;
  assert.equal((await hangs).code, Code.Unavailable);
  assert.equal(served.activeCalls, 0);
});

Deno.test("ServedDataChannel.close() waits no longer than for the last call", async () => {
  const { echo, served, seen } = connect();
  const leave = new AbortController();
  const call = rejection(echo.echo({ message: "wait" }, { signal: leave.signal }));
  await until(() => seen.begun.length === 1, "the call");
  const closed = served.close(60_000);
  leave.abort();
  await call;
  await closed;
});

Deno.test("ServedDataChannel.close() waits until the last answers have left", async () => {
  const { echo, served, seen, server } = connect();
  const call = rejection(echo.echo({ message: "wait" }));
  await until(() => seen.begun.length === 1, "the call");
  server.held = true;
  let closed = false;
  const closing = served.close(0).then(() => closed = true);
  await until(() => server.bufferedBytes > 0, "the answer");
  assert.equal(closed, false);
  server.held = false;
  await closing;
  assert.equal(server.bufferedBytes, 0);
  assert.match((await call).rawMessage, /shutting down/);
});

Deno.test("serveDataChannel() ends streams when its signal aborts, and not calls with one answer", async () => {
  const stop = new AbortController();
  const { echo, seen, served } = connect({ signal: stop.signal });
  const leave = new AbortController();
  const call = rejection(echo.echo({ message: "wait" }, { signal: leave.signal }));
  const stream = rejection(collect(echo.echoMultiple({ message: "a wait" })));
  await until(() => seen.begun.length === 2, "the calls");
  stop.abort();
  assert.equal((await stream).code, Code.Unavailable);
  assert.equal(served.activeCalls, 1);
  leave.abort();
  assert.equal((await call).code, Code.Canceled);
});

Deno.test("serveDataChannel() answers reflection like any service", async () => {
  const router = echoRouter({ aborted: [], begun: [] });
  mountReflection(router);
  const { transport } = connect({ router });
  const request = create(ServerReflection.method.serverReflectionInfo.input, {
    messageRequest: { case: "listServices", value: "" },
  });
  const client = createClient(ServerReflection, transport);
  const ask = async function* () {
    yield request;
  };
  for await (const { messageResponse } of client.serverReflectionInfo(ask())) {
    assert.ok(messageResponse.case === "listServicesResponse");
    const names = messageResponse.value.service.map(({ name }) => name);
    assert.ok(names.includes(TestEchoService.typeName), names.join());
  }
});
