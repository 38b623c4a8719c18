/** What calls look like on the wire, to a client that is not ours: that of node:http2. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import http2 from "node:http2";
import { deflateSync, gzipSync } from "node:zlib";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import {
  GetReadingsRequestSchema,
  GetReadingsResponseSchema,
} from "../../gen/viam/common/v1/common_pb.ts";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import { RpcRouter } from "./router.ts";
import { GET_READINGS, testRouter, text, withServer } from "../testing.ts";
import { create } from "@bufbuild/protobuf";

interface Answer {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly trailers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** One request on a connection of its own. */
async function call(
  url: string,
  body: Uint8Array,
  headers: http2.OutgoingHttpHeaders = {},
  path = `/${GET_READINGS}`,
): Promise<Answer> {
  const session = http2.connect(url);
  try {
    return await new Promise((resolve, reject) => {
      session.once("error", reject);
      const type = { "content-type": "application/grpc", te: "trailers" };
      const stream = session.request({ ":method": "POST", ":path": path, ...type, ...headers });
      const chunks: Buffer[] = [];
      let received: http2.IncomingHttpHeaders = {};
      let trailers: http2.IncomingHttpHeaders = {};
      stream.once("response", (given) => received = given);
      stream.once("trailers", (given) => trailers = given);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.once("error", reject);
      stream.once("end", () => {
        const status = Number(received[":status"]);
        resolve({ status, headers: received, trailers, body: Buffer.concat(chunks) });
      });
      stream.end(body);
    });
  } finally {
    session.destroy();
  }
}

function message(bytes: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

const named = (name: string) =>
  toBinary(GetReadingsRequestSchema, create(GetReadingsRequestSchema, { name }));
const statusOf = ({ headers, trailers }: Answer) =>
  Number(trailers["grpc-status"] ?? headers["grpc-status"]);
const textOf = ({ headers, trailers }: Answer) =>
  decodeURIComponent(String(trailers["grpc-message"] ?? headers["grpc-message"]));

Deno.test("a call is answered with one message and its status", async () => {
  await withServer({}, async (url) => {
    const answer = await call(url, message(named("s")));
    assert.deepEqual([answer.status, statusOf(answer)], [200, 0]);
    assert.match(String(answer.headers["content-type"]), /^application\/grpc/);
    const { readings } = fromBinary(GetReadingsResponseSchema, answer.body.subarray(5));
    assert.equal(readings["name"]?.kind.value, "s");
  });
});

Deno.test("what is no call is refused, with the reason", async () => {
  await withServer({}, async (url) => {
    const one = message(named("s"));
    const unknown = await call(url, one, {}, "/no.Service/Method");
    assert.equal(statusOf(unknown), Code.Unimplemented);
    assert.match(textOf(unknown), /\/no\.Service\/Method/);
    for (const type of ["text/plain", "application/grpcx", "application/grpc-web"]) {
      assert.equal((await call(url, one, { "content-type": type })).status, 415, type);
    }
    for (const type of ["application/grpc+proto", "application/grpc; a=b", "application/GRPC"]) {
      assert.equal(statusOf(await call(url, one, { "content-type": type })), 0, type);
    }
    assert.equal((await call(url, one, { ":method": "PUT" })).status, 415);
    const cases: Record<string, [Uint8Array, code: Code, RegExp]> = {
      "no message": [new Uint8Array(0), Code.Internal, /0 messages/],
      "two messages": [Buffer.concat([one, one]), Code.Internal, /2 messages/],
      "half a message": [one.subarray(0, 6), Code.Internal, /inside a message/],
      "a length too large": [Uint8Array.of(0, 255, 0, 0, 0), Code.ResourceExhausted, /larger/],
      "no protobuf": [message(Uint8Array.of(255)), Code.InvalidArgument, /GetReadingsRequest/],
    };
    for (const [what, [body, code, reason]] of Object.entries(cases)) {
      const answer = await call(url, body);
      assert.equal(statusOf(answer), code, what);
      assert.match(textOf(answer), reason, what);
    }
  });
});

Deno.test("compressed requests are read, of the known kinds and up to the usual size", async () => {
  await withServer({}, async (url) => {
    for (const [encoding, compress] of [["gzip", gzipSync], ["deflate", deflateSync]] as const) {
      const own = { "grpc-encoding": encoding };
      assert.equal(statusOf(await call(url, message(compress(named("s")), 1), own)), 0, encoding);
      assert.equal(statusOf(await call(url, message(named("s"), 0), own)), 0, encoding);
      const bomb = message(compress(Buffer.alloc(MAX_MESSAGE_BYTES + 1)), 1);
      assert.equal(statusOf(await call(url, bomb, own)), Code.ResourceExhausted, encoding);
      assert.equal(statusOf(await call(url, message(named("s"), 1), own)), Code.Internal, encoding);
    }
    const other = await call(url, message(named("s"), 1), { "grpc-encoding": "snappy" });
    assert.equal(statusOf(other), Code.Unimplemented);
    assert.equal(other.headers["grpc-accept-encoding"], "identity,gzip,deflate");
    assert.equal(statusOf(await call(url, message(named("s"), 1))), Code.Internal);
  });
});

Deno.test("a call's deadline ends it here too, for callers that do not cancel", async () => {
  const seen: { aborted?: Promise<void> } = {};
  await withServer({ router: testRouter(seen) }, async (url) => {
    const answer = await call(url, message(named("slow")), { "grpc-timeout": "50m" });
    assert.equal(statusOf(answer), Code.DeadlineExceeded);
    await seen.aborted;
  });
});

Deno.test("metadata of several values and in binary arrives, and goes back", async () => {
  const router = new RpcRouter().service(SensorService, {
    getReadings(_request, { requestHeader, responseHeader, responseTrailer }) {
      const heard = ["a", "b-bin", "te", "grpc-timeout"].map((key) => requestHeader.get(key));
      responseHeader.set("h-bin", "/wA=");
      responseTrailer.set("t", "é");
      return { readings: { heard: text(JSON.stringify(heard)) } };
    },
  });
  await withServer({ router }, async (url) => {
    // Without padding, and two in one: as clients may send them.
    const own = { a: ["1", "2"], "b-bin": "/w,AAE", "grpc-timeout": "5S" };
    const answer = await call(url, message(named("s")), own);
    const { readings } = fromBinary(GetReadingsResponseSchema, answer.body.subarray(5));
    assert.equal(readings["heard"]?.kind.value, '["1, 2","/w==, AAE=",null,null]');
    assert.equal(answer.headers["h-bin"], "/wA=");
    assert.equal(Buffer.from(String(answer.trailers["t"]), "latin1").length, 1);
  });
});

Deno.test("an error's text and details arrive, whatever is in them", async () => {
  const strange = "50 % of 日本\n\ud800 lost";
  const router = new RpcRouter().service(SensorService, {
    getReadings() {
      const error = new ConnectError(strange, Code.DataLoss);
      error.details.push({ desc: StatusSchema, value: { message: "inner" } });
      throw error;
    },
  });
  await withServer({ router }, async (url) => {
    const answer = await call(url, message(named("s")));
    assert.equal(statusOf(answer), Code.DataLoss);
    assert.equal(textOf(answer), strange.toWellFormed());
    const details = Buffer.from(String(answer.headers["grpc-status-details-bin"]), "base64");
    const [inner] = fromBinary(StatusSchema, details).details;
    assert.equal(fromBinary(StatusSchema, inner!.value).message, "inner");
  });
});

Deno.test("an answer that is too large becomes an error", async () => {
  const router = new RpcRouter().service(SensorService, {
    getReadings: () => ({ readings: { big: text("x".repeat(MAX_MESSAGE_BYTES)) } }),
  });
  await withServer({ router }, async (url) => {
    assert.equal(statusOf(await call(url, message(named("s")))), Code.ResourceExhausted);
  });
});
