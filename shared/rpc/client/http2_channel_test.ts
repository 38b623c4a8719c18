import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  DoCommandRequestSchema,
  DoCommandResponseSchema,
  ResourceNameSchema,
} from "../../gen/viam/common/v1/common_pb.ts";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  ShellRequestSchema,
  ShellResponseSchema,
  ShellService,
} from "../../gen/viam/service/shell/v1/shell_pb.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import {
  encodeFrame,
  encodeGoaway,
  encodeSettings,
  Flag,
  FrameCutter,
  FrameType,
  PREFACE,
} from "../h2/frames.ts";
import { encodeHeaders } from "../h2/hpack_testing.ts";
import { Http2Channel } from "./http2_channel.ts";
import { framed } from "./grpc_frames.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import { RpcRouter } from "../server/router.ts";
import { RpcServer } from "../server/server.ts";

const DETAIL = { desc: ResourceNameSchema, value: { name: "pin" } };

/** A server on a socket in a folder of its own, and a client of it. */
class Served implements AsyncDisposable {
  server: RpcServer | undefined;
  aborted = false;
  headers = new Headers();
  timeoutMs: number | undefined;

  private constructor(readonly folder: string, readonly client: Http2Channel) {}

  static async start(): Promise<Served> {
    const folder = await Deno.makeTempDir();
    const served = new Served(folder, new Http2Channel(`unix:${join(folder, "s.sock")}`));
    await served.listen();
    return served;
  }

  async listen(): Promise<void> {
    const router = new RpcRouter().service(SensorService, {
      doCommand: ({ command }, context) => {
        this.headers = context.requestHeader;
        this.timeoutMs = context.timeoutMs();
        if (command?.["fail"]) {
          throw new ConnectError("dérangé: 100 %", Code.DataLoss, undefined, [DETAIL]);
        }
        if (command?.["wait"]) {
          return new Promise((_, reject) =>
            context.signal.addEventListener("abort", () => {
              this.aborted = true;
              reject(context.signal.reason);
            })
          );
        }
        return { result: { text: "x".repeat(Number(command?.["size"] ?? 1)) } };
      },
    });
    router.service(ShellService, {
      async *shell(requests) {
        for await (const { dataIn } of requests) {
          if (dataIn === "fail") throw new ConnectError("told to", Code.Aborted);
          yield { dataOut: dataIn };
        }
      },
    });
    this.server = await RpcServer.start({ router, listen: { path: join(this.folder, "s.sock") } });
  }

  async ask(
    command: JsonObject,
    { signal = new AbortController().signal, metadata = new Metadata(), timeoutMs = 60_000 } = {},
  ): Promise<number> {
    const request = create(DoCommandRequestSchema, { name: "s", command });
    const bytes = await this.client.call(
      {
        path: "/viam.component.sensor.v1.SensorService/DoCommand",
        metadata,
        signal,
        timeoutMs,
      },
      toBinary(DoCommandRequestSchema, request),
    );
    return String(fromBinary(DoCommandResponseSchema, bytes).result!["text"]).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.server?.close({ graceMs: 100 });
    await Deno.remove(this.folder, { recursive: true });
  }
}

Deno.test("Http2Channel answers small and large messages, many at a time", async () => {
  await using served = await Served.start();
  const sizes = [1, 100, 70_000, 4_000_000, 5];
  assert.deepEqual(await Promise.all(sizes.map((size) => served.ask({ size }))), sizes);
  assert.equal(served.client.inFlight, 0);
});

Deno.test("Http2Channel carries hundreds of calls at a time, and large requests", async () => {
  await using served = await Served.start();
  const many = Array.from({ length: 250 }, (_, n) => 1 + n * 10);
  assert.deepEqual(await Promise.all(many.map((size) => served.ask({ size }))), many);
  const large = { size: 4_000_000, text: "y".repeat(4_000_000) };
  assert.deepEqual(await Promise.all([served.ask(large), served.ask({})]), [4_000_000, 1]);
});

/** A server on frames: leaves after `requests` calls, of which it answers the first only. */
async function leavingServer(listener: Deno.Listener, requests: number): Promise<number> {
  const connection = await listener.accept();
  let begun = 0;
  const cutter = new FrameCutter((type) => begun += type === FrameType.headers ? 1 : 0);
  const bytes = new Uint8Array(65_536);
  let preface = PREFACE.length;
  while (begun < requests) {
    const read = await connection.read(bytes);
    if (read === null) break;
    cutter.push(bytes.subarray(preface, read));
    preface = 0;
  }
  const headers = (end: number, ...list: string[]) =>
    encodeFrame(FrameType.headers, Flag.endHeaders | end, 1, encodeHeaders(list));
  const answer = [
    encodeSettings([]),
    encodeGoaway({ lastStreamId: 1, code: 0, text: "" }),
    headers(0, ":status", "200"),
    encodeFrame(FrameType.data, 0, 1, framed(Uint8Array.of(42))),
    headers(Flag.endStream, "grpc-status", "0"),
  ];
  await new Blob(answer as Uint8Array<ArrayBuffer>[]).stream().pipeTo(connection.writable);
  return begun;
}

Deno.test("Http2Channel makes a call again that a server which leaves hasn't begun", async () => {
  const folder = await Deno.makeTempDir();
  const path = join(folder, "s.sock");
  const listener = Deno.listen({ transport: "unix", path });
  const client = new Http2Channel(`unix:${path}`);
  const outgoing = { path: SHELL, metadata: new Metadata(), signal: AbortSignal.timeout(60_000) };
  const calls = [1, 2].map((byte) => client.call(outgoing, Uint8Array.of(byte)));
  assert.equal(await leavingServer(listener, 2), 2);
  assert.equal(await leavingServer(listener, 1), 1);
  assert.deepEqual((await Promise.all(calls)).map((bytes) => [...bytes]), [[42], [42]]);
  client.close();
  listener.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("Http2Channel works over TCP", async () => {
  const router = new RpcRouter().service(SensorService, { doCommand: () => ({ result: {} }) });
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  const client = new Http2Channel(`http://127.0.0.1:${server.address.port}`);
  const { bytes, trailer } = await client.unaryWithMetadata(
    {
      path: "/viam.component.sensor.v1.SensorService/DoCommand",
      metadata: new Metadata(),
      signal: AbortSignal.timeout(60_000),
    },
    new Uint8Array(0),
  );
  assert.deepEqual([[...bytes], [...trailer]], [[10, 0], []]);
  client.close();
  await server.close({ graceMs: 100 });
});

Deno.test("Http2Channel sends metadata and the time that is left", async () => {
  await using served = await Served.start();
  const metadata = new Metadata();
  metadata.set("opid", "op-1");
  await served.ask({}, { metadata, timeoutMs: 600_000 });
  assert.equal(served.headers.get("opid"), "op-1");
  assert.ok(served.timeoutMs! > 1_000 && served.timeoutMs! <= 600_000, String(served.timeoutMs));
});

Deno.test("Http2Channel gives code, text and details of an error", async () => {
  await using served = await Served.start();
  await assert.rejects(served.ask({ fail: true }), (error: ConnectError) => {
    assert.equal(error.code, Code.DataLoss);
    assert.equal(error.rawMessage, "dérangé: 100 %");
    assert.equal(error.findDetails(ResourceNameSchema)[0]?.name, "pin");
    return true;
  });
});

Deno.test("Http2Channel cancels the call at the peer when its signal aborts", async () => {
  await using served = await Served.start();
  const controller = new AbortController();
  const asked = served.ask({ wait: true }, { signal: controller.signal });
  await waitFor(() => served.headers.has("te") || served.timeoutMs !== undefined, {
    deadlineMs: 60_000,
    what: "the call",
  });
  controller.abort(new ConnectError("the caller went away", Code.Canceled));
  await assert.rejects(asked, /the caller went away/);
  await waitFor(() => served.aborted, { deadlineMs: 60_000, what: "the end of the call" });
});

Deno.test("Http2Channel says UNAVAILABLE while nobody listens, and connects again after it", async () => {
  await using served = await Served.start();
  assert.equal(await served.ask({}), 1);
  await served.server!.close({ graceMs: 0 });
  await assert.rejects(served.ask({}), (error: ConnectError) => error.code === Code.Unavailable);
  await served.listen();
  assert.equal(await served.ask({}), 1);
});

Deno.test("Http2Channel refuses an answer that is larger than messages may be", async () => {
  await using served = await Served.start();
  await assert.rejects(
    served.ask({ size: MAX_MESSAGE_BYTES + 1 }),
    (error: ConnectError) => error.code === Code.ResourceExhausted,
  );
  assert.equal(await served.ask({}), 1);
});

const SHELL = "/viam.service.shell.v1.ShellService/Shell";

/** What a shell that echoes sends back; "fail" makes it fail. */
async function echoed(
  served: Served,
  input: AsyncIterable<string>,
  signal = new AbortController().signal,
  onMessage: (text: string) => unknown = () => {},
): Promise<string[]> {
  const requests = async function* () {
    for await (const dataIn of input) {
      yield toBinary(ShellRequestSchema, create(ShellRequestSchema, { dataIn }));
    }
  };
  const outgoing = { path: SHELL, metadata: new Metadata(), signal };
  const said: string[] = [];
  const { messages } = await served.client.stream(outgoing, requests());
  for await (const bytes of messages) {
    said.push(fromBinary(ShellResponseSchema, bytes).dataOut);
    await onMessage(said.at(-1)!);
  }
  return said;
}

async function* each(...texts: string[]): AsyncIterable<string> {
  for (const text of texts) yield await Promise.resolve(text);
}

Deno.test("Http2Channel streams both ways, in order, also more than may wait", async () => {
  await using served = await Served.start();
  const texts = Array.from({ length: 200 }, (_, n) => `${n}-${"x".repeat(20_000)}`);
  assert.deepEqual(await echoed(served, each(...texts)), texts);
  assert.deepEqual(await echoed(served, each()), []);
});

Deno.test("Http2Channel stops a stream whose reader is slow, and goes on when it has read", async () => {
  await using served = await Served.start();
  const texts = Array.from({ length: 150 }, (_, n) => `${n}-${"x".repeat(20_000)}`);
  const calls = new Http2Channel(`unix:${join(served.folder, "s.sock")}`);
  const request = toBinary(DoCommandRequestSchema, create(DoCommandRequestSchema, { name: "s" }));
  // A call takes longer than the messages that wait meanwhile.
  const slowly = () =>
    calls.call({
      path: "/viam.component.sensor.v1.SensorService/DoCommand",
      metadata: new Metadata(),
      signal: AbortSignal.timeout(60_000),
    }, request);
  const signal = AbortSignal.timeout(60_000);
  assert.deepEqual(await echoed(served, each(...texts), signal, slowly), texts);
  calls.close();
});

Deno.test("Http2Channel hands out what came before a stream failed, then the error", async () => {
  await using served = await Served.start();
  const said: string[] = [];
  await assert.rejects(
    echoed(served, each("a", "fail"), undefined, (text) => said.push(text)),
    (error: ConnectError) => error.code === Code.Aborted && error.rawMessage === "told to",
  );
  assert.deepEqual(said, ["a"]);
});

Deno.test("Http2Channel ends a stream when its signal aborts", async () => {
  await using served = await Served.start();
  const controller = new AbortController();
  const endless = async function* () {
    yield "a";
    await new Promise((resolve) => controller.signal.addEventListener("abort", resolve));
  };
  const abort = () => controller.abort(new ConnectError("enough", Code.Canceled));
  await assert.rejects(echoed(served, endless(), controller.signal, abort), /enough/);
});
