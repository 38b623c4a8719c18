import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  DoCommandRequestSchema,
  DoCommandResponseSchema,
  ResourceNameSchema,
} from "../gen/viam/common/v1/common_pb.ts";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  ShellRequestSchema,
  ShellResponseSchema,
  ShellService,
} from "../gen/viam/service/shell/v1/shell_pb.ts";
import { waitFor } from "../time/wait_for.ts";
import { LeanChannel } from "./lean_channel.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import { RpcRouter } from "./router.ts";
import { RpcServer } from "./server.ts";

const DETAIL = { desc: ResourceNameSchema, value: { name: "pin" } };

/** A server on a socket in a folder of its own, and a client of it. */
class Served implements AsyncDisposable {
  server: RpcServer | undefined;
  aborted = false;
  headers = new Headers();
  timeoutMs: number | undefined;

  private constructor(readonly folder: string, readonly client: LeanChannel) {}

  static async start(): Promise<Served> {
    const folder = await Deno.makeTempDir();
    const served = new Served(folder, new LeanChannel(`unix:${join(folder, "s.sock")}`));
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

Deno.test("LeanChannel answers small and large messages, many at a time", async () => {
  await using served = await Served.start();
  const sizes = [1, 100, 70_000, 4_000_000, 5];
  assert.deepEqual(await Promise.all(sizes.map((size) => served.ask({ size }))), sizes);
  assert.equal(served.client.inFlight, 0);
});

Deno.test("LeanChannel sends metadata and the time that is left", async () => {
  await using served = await Served.start();
  const metadata = new Metadata();
  metadata.set("opid", "op-1");
  await served.ask({}, { metadata, timeoutMs: 5_000 });
  assert.equal(served.headers.get("opid"), "op-1");
  assert.ok(served.timeoutMs! > 1_000 && served.timeoutMs! <= 5_000, String(served.timeoutMs));
});

Deno.test("LeanChannel gives code, text and details of an error", async () => {
  await using served = await Served.start();
  await assert.rejects(served.ask({ fail: true }), (error: ConnectError) => {
    assert.equal(error.code, Code.DataLoss);
    assert.equal(error.rawMessage, "dérangé: 100 %");
    assert.equal(error.findDetails(ResourceNameSchema)[0]?.name, "pin");
    return true;
  });
});

Deno.test("LeanChannel cancels the call at the other side when its signal aborts", async () => {
  await using served = await Served.start();
  const controller = new AbortController();
  const asked = served.ask({ wait: true }, { signal: controller.signal });
  await waitFor(() => served.headers.has("te") || served.timeoutMs !== undefined, {
    deadlineMs: 10_000,
    what: "the call",
  });
  controller.abort(new ConnectError("the caller went away", Code.Canceled));
  await assert.rejects(asked, /the caller went away/);
  await waitFor(() => served.aborted, { deadlineMs: 10_000, what: "the end of the call" });
});

Deno.test("LeanChannel says UNAVAILABLE while nobody listens, and connects again after it", async () => {
  await using served = await Served.start();
  assert.equal(await served.ask({}), 1);
  await served.server!.close({ graceMs: 0 });
  await assert.rejects(served.ask({}), (error: ConnectError) => error.code === Code.Unavailable);
  await served.listen();
  assert.equal(await served.ask({}), 1);
});

Deno.test("LeanChannel refuses an answer that is larger than messages may be", async () => {
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
  onMessage: (text: string) => void = () => {},
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
    onMessage(said.at(-1)!);
  }
  return said;
}

async function* each(...texts: string[]): AsyncIterable<string> {
  for (const text of texts) yield await Promise.resolve(text);
}

Deno.test("LeanChannel streams both ways, in order, also more than may wait", async () => {
  await using served = await Served.start();
  const texts = Array.from({ length: 200 }, (_, n) => `${n}-${"x".repeat(20_000)}`);
  assert.deepEqual(await echoed(served, each(...texts)), texts);
  assert.deepEqual(await echoed(served, each()), []);
});

Deno.test("LeanChannel hands out what came before a stream failed, then the error", async () => {
  await using served = await Served.start();
  const said: string[] = [];
  await assert.rejects(
    echoed(served, each("a", "fail"), undefined, (text) => said.push(text)),
    (error: ConnectError) => error.code === Code.Aborted && error.rawMessage === "told to",
  );
  assert.deepEqual(said, ["a"]);
});

Deno.test("LeanChannel ends a stream when its signal aborts", async () => {
  await using served = await Served.start();
  const controller = new AbortController();
  const endless = async function* () {
    yield "a";
    await new Promise((resolve) => controller.signal.addEventListener("abort", resolve));
  };
  const abort = () => controller.abort(new ConnectError("enough", Code.Canceled));
  await assert.rejects(echoed(served, endless(), controller.signal, abort), /enough/);
});
