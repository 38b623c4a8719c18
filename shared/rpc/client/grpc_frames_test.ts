import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { ErrorCode } from "../h2/frames.ts";
import { HpackDecoder } from "../h2/hpack.ts";
import { HpackEncoder } from "../h2/hpack_encoder.ts";
import {
  answerHeaders,
  codeOfReset,
  framed,
  MessageCutter,
  parseTimeout,
  RequestHeaders,
  statusError,
} from "./grpc_frames.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";

const { signal } = new AbortController();

Deno.test("RequestHeaders.of() gives what every call has, then its deadline and metadata", () => {
  const headers = new RequestHeaders("localhost:80");
  const common = [
    ...[":method", "POST", ":scheme", "http", ":path", "/s/M", ":authority", "localhost:80"],
    ...["content-type", "application/grpc", "te", "trailers"],
  ];
  const metadata = new Metadata();
  const decoded = (timeoutMs?: number) =>
    new HpackDecoder().decode(
      new HpackEncoder().encode(headers.of({ path: "/s/M", metadata, signal, timeoutMs })),
    );
  assert.deepEqual(decoded(), common);
  const secure = new RequestHeaders("a", true).of({ path: "/s/M", metadata, signal });
  const [, , ...scheme] = new HpackDecoder().decode(new HpackEncoder().encode(secure)) ?? [];
  assert.deepEqual(scheme.slice(0, 2), [":scheme", "https"]);
  metadata.add("a", "1");
  metadata.add("a", "2");
  metadata.set("b-bin", Buffer.from([255]));
  const own = ["a", "1", "a", "2", "b-bin", "/w=="];
  assert.deepEqual(decoded(1.2), [...common, "grpc-timeout", "2m", ...own]);
  assert.deepEqual(decoded(1e12), [...common, "grpc-timeout", "99999999m", ...own]);
});

Deno.test("RequestHeaders.of() refuses what a server would end the connection for", () => {
  const headers = new RequestHeaders("localhost:80");
  const of = (metadata: Metadata) => headers.of({ path: "/s/M", metadata, signal, timeoutMs: 1 });
  const metadata = new Metadata();
  metadata.set("long", "x".repeat(64_000));
  assert.ok(new HpackDecoder().decode(new HpackEncoder().encode(of(metadata))));
  metadata.set("more", "x".repeat(1_000));
  assert.throws(() => of(metadata), { code: Code.ResourceExhausted });
  const many = new Metadata();
  for (let n = 0; n < 2_000; n++) many.set(`k${n}`, "");
  assert.throws(() => of(many), { code: Code.ResourceExhausted });
});

Deno.test("MessageCutter gives the messages, wherever the chunks are cut", () => {
  const all = [3, 0, 0, 300, 1].map((size) => new Uint8Array(size).fill(size));
  const bytes = Buffer.concat(all.map(framed));
  for (let size = 1; size <= bytes.length; size++) {
    const cutter = new MessageCutter();
    const messages: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      const chunk = Uint8Array.from(bytes.subarray(at, at + size));
      cutter.push(chunk, messages);
      // The bytes belong to the connection, which uses them again.
      chunk.fill(99);
    }
    assert.deepEqual(messages.map((message) => [...message]), all.map((one) => [...one]));
  }
});

Deno.test("MessageCutter refuses messages that are too large or compressed", () => {
  const prefix = (flag: number, length: number) => {
    const bytes = Buffer.alloc(5, flag);
    bytes.writeUInt32BE(length, 1);
    return bytes;
  };
  const cases: [Buffer, Code][] = [
    [prefix(0, MAX_MESSAGE_BYTES + 1), Code.ResourceExhausted],
    [prefix(1, 1), Code.Internal],
  ];
  for (const [bytes, code] of cases) {
    assert.throws(
      () => new MessageCutter().push(bytes, []),
      (error: ConnectError) => error.code === code,
    );
  }
  new MessageCutter().push(prefix(0, MAX_MESSAGE_BYTES), []);
});

Deno.test("statusError() reads code, text and metadata; a text that isn't encoded stays", () => {
  const cases: [readonly string[], string | undefined][] = [
    [["grpc-status", "0"], undefined],
    [["grpc-status", "5", "grpc-message", "no%20%C3%A9"], "[not_found] no é"],
    [["grpc-status", "5", "grpc-message", "100 %"], "[not_found] 100 %"],
    [["grpc-status", "14"], "[unavailable]"],
    [["grpc-status", "99"], "[unknown]"],
    [["grpc-status", "x"], "[unknown]"],
    [
      ["grpc-status", "5", "grpc-message", "no", "grpc-status-details-bin", "/////w=="],
      "[not_found] no",
    ],
  ];
  for (const [trailers, message] of cases) {
    assert.equal(statusError(trailers)?.message.trim(), message);
  }
  const error = statusError(["grpc-status", "5", "x", "1", "x", "2"]);
  assert.equal(error?.metadata.get("x"), "1, 2");
});

Deno.test("answerHeaders() leaves out what is gRPC's and HTTP/2's own", () => {
  const headers = answerHeaders([":status", "200", "a", "1", "grpc-status", "0", "a", "2"]);
  assert.deepEqual([...headers], [["a", "1, 2"]]);
  assert.deepEqual([...answerHeaders(undefined)], []);
});

Deno.test("codeOfReset() follows the protocol's table", () => {
  const { refusedStream, cancel, enhanceYourCalm, inadequateSecurity, protocolError } = ErrorCode;
  assert.deepEqual(
    [refusedStream, cancel, enhanceYourCalm, inadequateSecurity, protocolError].map(codeOfReset),
    [
      Code.Unavailable,
      Code.Canceled,
      Code.ResourceExhausted,
      Code.PermissionDenied,
      Code.Internal,
    ],
  );
});

Deno.test("parseTimeout() gives milliseconds, and no limit for what is none", () => {
  const cases: [string | undefined, number | undefined][] = [
    ["2H", 7_200_000],
    ["3M", 180_000],
    ["5S", 5_000],
    ["99999999m", 99_999_999],
    ["1500u", 1.5],
    ["0n", 0],
    [undefined, undefined],
    ["", undefined],
    ["m", undefined],
    ["5", undefined],
    ["5s", undefined],
    ["-5S", undefined],
    ["1e3S", undefined],
    ["123456789S", undefined],
  ];
  for (const [text, ms] of cases) assert.equal(parseTimeout(text), ms, String(text));
});

Deno.test("MessageCutter puts a message together from single bytes, and holds little more than came", () => {
  const message = Uint8Array.from({ length: 100_000 }, (_, n) => n * 7);
  const cutter = new MessageCutter({ what: "request" });
  const messages: Uint8Array[] = [];
  const frame = framed(message);
  for (let at = 0; at < 1_000; at++) cutter.push(frame.subarray(at, at + 1), messages);
  for (let at = 1_000; at < frame.length; at += 777) {
    cutter.push(frame.subarray(at, at + 777), messages);
  }
  assert.deepEqual(messages.map((one) => new Uint8Array(one)), [message]);

  // 32 MiB are promised, and half a million bytes come, one by one.
  const before = Deno.memoryUsage();
  const hungry = Array.from({ length: 5 }, () => new MessageCutter({ what: "request" }));
  for (const one of hungry) {
    one.push(Uint8Array.of(0, 1, 0, 0, 0), messages);
    for (let n = 0; n < 100_000; n++) one.push(Uint8Array.of(n), messages);
  }
  const after = Deno.memoryUsage();
  const held = after.heapUsed + after.external - before.heapUsed - before.external;
  assert.ok(held < 64 * 1024 * 1024, `${held} bytes`);
  assert.equal(hungry.filter(({ isInside }) => isInside).length, 5);
});
