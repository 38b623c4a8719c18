import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextKey } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  EchoBiDiResponseSchema,
  TestEchoService,
} from "../../gen/viam/component/testecho/v1/testecho_pb.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import type { Call, CallOutcome, Interceptor } from "../server/interceptor.ts";
import type { ForwardedCall } from "../client/forward.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import { peerKey } from "../server/peer.ts";
import { RpcRouter } from "../server/router.ts";
import { MOST_CALLS } from "./server.ts";
import { patterned, RawCaller, serveEcho } from "./testing.ts";
import { BIDI, bidi, ECHO, echo, echoed, MULTIPLE, multiple, UPLOAD } from "./messages_testing.ts";

Deno.test("serveDataChannel() answers headers, messages, trailers, in this order", async () => {
  const { client } = serveEcho();
  const caller = new RawCaller(client);
  caller.headers(1, ECHO);
  caller.message(1, echo("a"));
  const { order, status, messages } = await caller.ended(1);
  assert.deepEqual(order, ["headers", "message", "trailers"]);
  assert.equal(status?.code, 0);
  assert.deepEqual(echoed({ messages }), ["a"]);
  caller.headers(2, MULTIPLE);
  caller.message(2, multiple("a b"));
  assert.deepEqual((await caller.ended(2)).order, ["headers", "message", "message", "trailers"]);
});

Deno.test("serveDataChannel() ends a call whose message is too large, and lives", async () => {
  const { client } = serveEcho();
  const caller = new RawCaller(client);
  caller.headers(1, UPLOAD);
  const piece = patterned(65_000);
  for (let sent = 0; sent <= MAX_MESSAGE_BYTES; sent += piece.length) {
    caller.message(1, piece, { eom: false });
  }
  caller.message(1, piece);
  const { status, order } = await caller.ended(1);
  assert.equal(status?.code, Code.ResourceExhausted);
  assert.deepEqual(order, ["headers", "trailers"]);
  caller.headers(2, ECHO);
  caller.message(2, echo("alive"));
  assert.deepEqual(echoed(await caller.ended(2)), ["alive"]);
});

Deno.test("serveDataChannel() bounds what callers send ahead of their handlers", async () => {
  const { client, served } = serveEcho();
  const caller = new RawCaller(client);
  const message = bidi("x".repeat(60_000));
  caller.headers(1, BIDI);
  caller.message(1, bidi("wait"));
  for (let sent = 0; sent <= MAX_MESSAGE_BYTES; sent += message.length) caller.message(1, message);
  const { status } = await caller.ended(1);
  assert.equal(status?.code, Code.ResourceExhausted);
  assert.equal(served.activeCalls, 0);
  // What it held is free again: three such calls in turn would be more than a channel may hold.
  for (const id of [2, 3, 4]) {
    caller.headers(id, BIDI);
    caller.message(id, bidi("wait"));
    for (let n = 0; n < 400; n++) caller.message(id, message);
    caller.frame(id, { case: "rstStream", value: true });
    assert.equal((await caller.ended(id)).status?.code, Code.Canceled);
  }
});

Deno.test("serveDataChannel() fails a call that takes one message at the next one", async (t) => {
  const piece = new Uint8Array(65_000);
  for (const method of [ECHO, MULTIPLE]) {
    for (const eom of [true, false]) {
      await t.step(`${method}, ${eom ? "whole" : "begun"}`, async () => {
        const { client, served, seen } = serveEcho();
        const caller = new RawCaller(client);
        caller.headers(1, method);
        caller.message(1, method === ECHO ? echo("wait") : multiple("wait"), { eos: true });
        await waitFor(() => seen.begun.length > 0, { deadlineMs: 60_000, what: "its handler" });
        assert.equal(served.activeCalls, 1);
        // None of it is kept.
        for (let sent = 0; sent <= MAX_MESSAGE_BYTES; sent += piece.length) {
          caller.message(1, piece, { eom });
        }
        const { status, order } = await caller.ended(1);
        assert.deepEqual([status?.code, order], [Code.InvalidArgument, ["headers", "trailers"]]);
        assert.match(status?.message ?? "", /takes one message/);
        assert.deepEqual(seen.aborted, ["wait"]);
        assert.equal(served.activeCalls, 0);
      });
    }
  }
});

Deno.test("serveDataChannel() takes the end of the stream apart from a call's one message", async () => {
  const { client } = serveEcho();
  const caller = new RawCaller(client);
  caller.headers(1, ECHO);
  caller.message(1, echo("1000"));
  caller.frame(1, { case: "message", value: { hasMessage: false, eos: true } });
  caller.frame(1, { case: "message", value: { hasMessage: false, eos: true } });
  const { status, order } = await caller.ended(1);
  assert.deepEqual([status?.code, order], [0, ["headers", "message", "trailers"]]);
});

Deno.test("serveDataChannel() refuses calls beyond its limit until one ends", async () => {
  const { client, served, seen } = serveEcho();
  const caller = new RawCaller(client);
  for (let id = 1; id <= MOST_CALLS; id++) {
    caller.headers(id, ECHO);
    caller.message(id, echo("wait"));
  }
  const more = MOST_CALLS + 1;
  caller.headers(more, ECHO);
  assert.equal((await caller.ended(more)).status?.code, Code.ResourceExhausted);
  assert.equal(served.activeCalls, MOST_CALLS);
  caller.frame(1, { case: "rstStream", value: true });
  await caller.ended(1);
  assert.deepEqual(seen.aborted, ["wait"]);
  caller.headers(more + 1, ECHO);
  caller.message(more + 1, echo("room"));
  assert.deepEqual(echoed(await caller.ended(more + 1)), ["room"]);
});

Deno.test("serveDataChannel() closes a channel whose peer asks on and reads nothing", async () => {
  const { client, server } = serveEcho();
  const caller = new RawCaller(client);
  server.held = true;
  const method = `/${"x".repeat(50_000)}`;
  for (let id = 1; id < 1_000 && caller.closed === undefined; id++) {
    caller.headers(id, method);
    await Promise.resolve();
  }
  await waitFor(() => caller.closed, { deadlineMs: 60_000, what: "the end of the channel" });
  assert.ok(server.bufferedBytes < 16 * 1024 * 1024);
});

Deno.test("serveDataChannel() runs interceptors with the caller, its metadata and values", async () => {
  const identity = createContextKey("nobody");
  const ended: CallOutcome[] = [];
  const calls: string[] = [];
  const guard: Interceptor = {
    before(call) {
      const who = call.values.get(identity);
      calls.push(`${call.path} ${who} ${call.values.get(peerKey).transport}`);
      if (call.header("x-deny") !== undefined) {
        throw new ConnectError("not for you", Code.PermissionDenied);
      }
    },
    after: (_call, outcome) => void ended.push(outcome),
  };
  const { client, seen } = serveEcho({
    interceptors: [guard],
    values: (values) => values.set(identity, "somebody"),
  });
  const caller = new RawCaller(client);
  caller.headers(1, ECHO, { metadata: { md: { "X-Deny": { values: ["1"] } } } });
  const { status } = await caller.ended(1);
  assert.deepEqual([status?.code, status?.message], [Code.PermissionDenied, "not for you"]);
  assert.deepEqual(seen.begun, []);
  caller.headers(2, ECHO);
  caller.message(2, echo("a"));
  await caller.ended(2);
  assert.deepEqual(calls, Array(2).fill(`${ECHO} somebody webrtc`));
  assert.deepEqual(ended.map(({ code }) => code), [Code.PermissionDenied, undefined]);
});

Deno.test("serveDataChannel() carries metadata both ways, binary values in base64", async () => {
  const { client } = serveEcho();
  const caller = new RawCaller(client);
  const md = { "X-Ask": { values: ["1", "2"] }, "raw-bin": { values: ["AAEC", "/w=="] } };
  caller.headers(1, ECHO, { metadata: { md: { ...md, ":authority": { values: ["x"] } } } });
  caller.message(1, echo("headers"));
  const { header, trailer } = await caller.ended(1);
  assert.deepEqual(header, { "x-ask": ["1, 2"], "raw-bin": ["AAEC", "/w=="] });
  assert.deepEqual(trailer, { "x-end": ["there"] });
});

Deno.test("serveDataChannel() tells a handler's error once, with its headers", async () => {
  const { client, reported } = serveEcho();
  const caller = new RawCaller(client);
  caller.headers(1, MULTIPLE);
  caller.message(1, multiple("headers a fail b"));
  const { order, status, trailer } = await caller.ended(1);
  assert.deepEqual(order, ["headers", "message", "message", "trailers"]);
  assert.deepEqual([status?.code, status?.message], [Code.DataLoss, "told to"]);
  assert.deepEqual(trailer, { "x-end": ["there"] });
  assert.deepEqual(reported, []);
});

Deno.test("serveDataChannel() hides what a broken handler threw, and reports it", async () => {
  const router = new RpcRouter().service(SensorService, {
    getReadings: () => {
      throw new TypeError("secret detail");
    },
  });
  const { client, reported } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, "/viam.component.sensor.v1.SensorService/GetReadings");
  caller.message(1, new Uint8Array(0));
  const { status } = await caller.ended(1);
  assert.equal(status?.code, Code.Internal);
  assert.ok(!status.message.includes("secret"));
  assert.match(String(reported[0]), /secret detail/);
});

Deno.test("serveDataChannel() cuts an error that is too long for a frame", async () => {
  const router = new RpcRouter().service(SensorService, {
    getReadings: (_request, context) => {
      context.responseHeader.set("long", "x".repeat(70_000));
      throw new ConnectError("y".repeat(70_000), Code.Aborted);
    },
  });
  const { client } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, "/viam.component.sensor.v1.SensorService/GetReadings");
  caller.message(1, new Uint8Array(0));
  const { status, order } = await caller.ended(1);
  assert.deepEqual(order, ["headers", "trailers"]);
  assert.equal(status?.code, Code.Aborted);
  assert.match(status.message, /^y{1000,}$/);
});

Deno.test("serveDataChannel() serves what is added to the router later", async () => {
  const router = new RpcRouter();
  const { client } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, ECHO);
  assert.equal((await caller.ended(1)).status?.code, Code.Unimplemented);
  router.service(TestEchoService, { echo: ({ message }) => ({ message }) });
  caller.headers(2, ECHO);
  caller.message(2, echo("later"));
  assert.deepEqual(echoed(await caller.ended(2)), ["later"]);
});

Deno.test("serveDataChannel() keeps the limit of a caller, from its frame or its metadata", async () => {
  const { client, seen } = serveEcho();
  const caller = new RawCaller(client);
  caller.headers(1, ECHO, { timeout: { seconds: 0n, nanos: 20_000_000 } });
  caller.message(1, echo("wait 1"));
  caller.headers(2, MULTIPLE, { metadata: { md: { "grpc-timeout": { values: ["20m"] } } } });
  caller.message(2, multiple("wait-2"));
  for (const id of [1, 2]) {
    assert.equal((await caller.ended(id)).status?.code, Code.DeadlineExceeded);
  }
  assert.deepEqual(seen.aborted.sort(), ["wait 1", "wait-2"]);
});

Deno.test("serveDataChannel() answers a reset though the handler hangs and heeds no signal", async () => {
  const router = new RpcRouter().service(SensorService, {
    getReadings: () => new Promise(() => {}),
  });
  const { client, served } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, "/viam.component.sensor.v1.SensorService/GetReadings");
  caller.message(1, new Uint8Array(0));
  caller.frame(1, { case: "rstStream", value: true });
  assert.equal((await caller.ended(1)).status?.code, Code.Canceled);
  assert.equal(served.activeCalls, 0);
});

Deno.test("serveDataChannel() ends the messages of a handler that heeds no signal", async () => {
  let returned = 0;
  const router = new RpcRouter().service(TestEchoService, {
    echoMultiple: () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: () => {
          returned++;
          return Promise.resolve({ done: true as const, value: undefined });
        },
      }),
    }),
  });
  const { client } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, MULTIPLE);
  caller.message(1, multiple("a"));
  // A message is requested of the handler before the call is reset.
  await new Promise((resolve) => setTimeout(resolve, 0));
  caller.frame(1, { case: "rstStream", value: true });
  await caller.ended(1);
  assert.equal(returned, 1);
});

Deno.test("serveDataChannel() sends nothing of a call after its end", async () => {
  const go = Promise.withResolvers<void>();
  const router = new RpcRouter().service(TestEchoService, {
    async echo({ message }) {
      await go.promise;
      return { message };
    },
  });
  const { client } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, ECHO);
  caller.message(1, echo("too late"));
  caller.frame(1, { case: "rstStream", value: true });
  await caller.ended(1);
  go.resolve();
  caller.headers(2, ECHO);
  caller.message(2, echo("after"));
  await caller.ended(2);
  assert.deepEqual(caller.answer(1).order, ["headers", "trailers"]);
});

Deno.test("serveDataChannel() ends the requests of a handler whose call is over", async () => {
  const ended = Promise.withResolvers<unknown>();
  const router = new RpcRouter().service(TestEchoService, {
    async *echoBiDi(requests) {
      try {
        for await (const { message } of requests) yield { message };
      } catch (error) {
        ended.resolve(error);
      }
    },
  });
  const { client } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, BIDI);
  caller.message(1, bidi("a"));
  const begun = () => caller.answer(1).messages.length === 1;
  await waitFor(begun, { deadlineMs: 60_000, everyMs: 1, what: "an answer" });
  caller.frame(1, { case: "rstStream", value: true });
  assert.equal(ConnectError.from(await ended.promise).code, Code.Canceled);
});

Deno.test("serveDataChannel() goes no further with a call that ended before it was let in", async () => {
  const letIn = Promise.withResolvers<void>();
  const inside = new Set<Call>();
  const { client, seen } = serveEcho({
    interceptors: [
      { before: () => letIn.promise },
      { before: (call) => void inside.add(call), after: (call) => void inside.delete(call) },
    ],
  });
  const caller = new RawCaller(client);
  for (const id of [1, 2]) {
    caller.headers(id, ECHO);
    caller.message(id, echo(`call ${id}`));
  }
  caller.frame(1, { case: "rstStream", value: true });
  await caller.ended(1);
  letIn.resolve();
  await caller.ended(2);
  assert.deepEqual(seen.begun, ["call 2"]);
  assert.equal(inside.size, 0);
});

Deno.test("serveDataChannel() passes calls on as bytes where a route says so", async () => {
  const seen: Uint8Array[] = [];
  let metadata: object | undefined;
  const elsewhere = {
    unary: (call: ForwardedCall, request: Uint8Array) => {
      metadata = call.forwardedHeaders();
      seen.push(request);
      return Promise.resolve(request);
    },
    async *stream(_call: unknown, requests: AsyncIterable<Uint8Array>) {
      for await (const request of requests) yield request;
    },
  };
  const router = new RpcRouter().service(TestEchoService, {}, {
    route: () => (first) => first.length > 3 ? elsewhere : undefined,
  });
  const { client } = serveEcho({ router });
  const caller = new RawCaller(client);
  caller.headers(1, ECHO, {
    metadata: { md: { "accept-encoding": { values: ["identity"] }, own: { values: ["x"] } } },
  });
  caller.message(1, echo("passed on"));
  assert.deepEqual((await caller.ended(1)).messages.map((bytes) => [...bytes]), [
    [...echo("passed on")],
  ]);
  assert.equal(seen.length, 1);
  assert.deepEqual(metadata, { own: ["x"] });
  caller.headers(2, BIDI);
  caller.message(2, bidi("first"));
  caller.message(2, bidi("x"), { eos: true });
  const { messages } = await caller.ended(2);
  const texts = messages.map((bytes) => fromBinary(EchoBiDiResponseSchema, bytes).message);
  assert.equal(texts.length, 2);
  caller.headers(3, ECHO);
  caller.message(3, echo("x"));
  assert.equal((await caller.ended(3)).status?.code, Code.Unimplemented);
});
