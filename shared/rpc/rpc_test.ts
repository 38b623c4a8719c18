import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { ServerReflection } from "../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { ShellService } from "../gen/viam/service/shell/v1/shell_pb.ts";
import { createInProcessTransport } from "./server/in_process.ts";
import type { CallOutcome, Interceptor } from "./server/interceptor.ts";
import { RpcRouter } from "./server/router.ts";
import { waitFor } from "../base/time/wait_for.ts";
import type { RpcServerOptions } from "./server/server.ts";
import { GET_READINGS, post, rejection, testRouter, withGrpc, withServer } from "./testing.ts";

Deno.test("RpcServer answers gRPC and knows the caller", async () => {
  await withGrpc({}, async (transport) => {
    const { readings } = await createClient(SensorService, transport).getReadings({ name: "peer" });
    const peer = JSON.parse(String(readings["peer"]?.kind.value));
    assert.equal(peer.address, "127.0.0.1");
    assert.equal(peer.local, true);
    assert.ok(peer.port > 0);
  });
});

Deno.test("RpcServer answers Connect JSON on the same port, and other HTTP by its own handler", async () => {
  const http = (_request: Request, peer: { local: boolean }) => new Response(`local ${peer.local}`);
  await withServer({ http }, async (url) => {
    const response = await post(url, GET_READINGS, '{"name":"peer"}', { origin: "http://page" });
    const peer = JSON.parse((await response.json()).readings.peer);
    assert.equal(peer.address, "127.0.0.1");
    assert.equal(response.headers.get("access-control-allow-origin"), "http://page");
    assert.equal(await (await fetch(url)).text(), "local true");
    const preflight = await fetch(`${url}/${GET_READINGS}`, {
      method: "OPTIONS",
      headers: { origin: "http://page", "access-control-request-method": "POST" },
    });
    assert.equal(preflight.status, 204);
    await preflight.body?.cancel();
  });
});

Deno.test("RpcServer answers gRPC-web with UNIMPLEMENTED when the method is unknown", async () => {
  await withServer({}, async (url) => {
    const response = await fetch(`${url}/viam.app.v1.AppService/Nope`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+proto" },
    });
    assert.equal(response.headers.get("grpc-status"), "12");
    await response.body?.cancel();
  });
});

Deno.test("RpcServer gives a handler's error to the caller, with its code, on both protocols", async () => {
  await withGrpc({}, async (transport, url) => {
    const error = await rejection(
      createClient(SensorService, transport).getReadings({ name: "missing" }),
    );
    assert.equal(error.code, Code.NotFound);
    assert.equal(error.rawMessage, "no node found");
    const response = await post(url, GET_READINGS, '{"name":"missing"}');
    assert.equal(response.status, 404);
    assert.deepEqual(await response.json(), { code: "not_found", message: "no node found" });
  });
});

Deno.test("RpcServer hides what a broken handler threw, and reports it under the id it gave out", async () => {
  const reported: [unknown, string, string][] = [];
  const report: RpcServerOptions["report"] = (error, path, id) => reported.push([error, path, id]);
  await withGrpc({ report }, async (transport, url) => {
    const error = await rejection(
      createClient(SensorService, transport).getReadings({ name: "broken" }),
    );
    assert.equal(error.code, Code.Internal);
    assert.ok(!error.message.includes("secret"), error.message);
    const web = await (await post(url, GET_READINGS, '{"name":"broken"}')).json();
    assert.ok(!JSON.stringify(web).includes("secret detail"), JSON.stringify(web));
    assert.equal(reported.length, 2);
    assert.ok(error.message.includes(reported[0]![2]));
    assert.match(String(reported[0]![0]), /secret detail/);
    assert.equal(reported[0]![1], `/${GET_READINGS}`);
  });
});

Deno.test("RpcServer passes metadata both ways", async () => {
  await withGrpc({}, async (transport) => {
    let header = "";
    let trailer = "";
    await createClient(SensorService, transport).getReadings({ name: "headers" }, {
      headers: { "x-ask": "asked" },
      onHeader: (headers) => header = headers.get("viam-smrn") ?? "",
      onTrailer: (trailers) => trailer = trailers.get("x-end") ?? "",
    });
    assert.equal(header, "rdk:component:sensor/s");
    assert.equal(trailer, "asked");
  });
});

Deno.test("RpcServer aborts the handler's signal when the caller cancels or its deadline passes", async () => {
  const seen: { aborted?: Promise<void> } = {};
  await withGrpc({ router: testRouter(seen) }, async (transport) => {
    const sensor = createClient(SensorService, transport);
    const late = await rejection(sensor.getReadings({ name: "slow" }, { timeoutMs: 100 }));
    assert.equal(late.code, Code.DeadlineExceeded);
    await seen.aborted;
    const controller = new AbortController();
    delete seen.aborted;
    const call = rejection(sensor.getReadings({ name: "slow" }, { signal: controller.signal }));
    await waitFor(() => seen.aborted !== undefined, { deadlineMs: 60_000, what: "the call" });
    controller.abort();
    assert.equal((await call).code, Code.Canceled);
    await seen.aborted;
  });
});

Deno.test("RpcServer carries a bidirectional stream, its order and its error", async () => {
  await withGrpc({}, async (transport) => {
    const shell = createClient(ShellService, transport);
    const received: string[] = [];
    const send = async function* (values: string[]) {
      for (const dataIn of values) yield { dataIn };
    };
    for await (const answer of shell.shell(send(["a", "b", "c"]))) received.push(answer.dataOut);
    assert.deepEqual(received, ["a", "b", "c"]);
    const error = await rejection((async () => {
      for await (const answer of shell.shell(send(["d", "fail", "e"]))) {
        received.push(answer.dataOut);
      }
    })());
    assert.equal(error.code, Code.Aborted);
    assert.ok(!received.includes("e"), received.join());
  });
});

Deno.test("RpcServer goes no further with a call whose deadline was exceeded before it was let in", async () => {
  const letIn = Promise.withResolvers<void>();
  const begun: string[] = [];
  const ended: string[] = [];
  const options: Partial<RpcServerOptions> = {
    interceptors: [
      { before: ({ path }) => (begun.push(path), letIn.promise) },
      { before: () => void begun.push("second"), after: ({ path }) => void ended.push(path) },
    ],
  };
  await withGrpc(options, async (transport) => {
    const sensor = createClient(SensorService, transport);
    const late = await rejection(sensor.getReadings({ name: "a" }, { timeoutMs: 2_000 }));
    assert.equal(late.code, Code.DeadlineExceeded);
    await waitFor(() => ended.length > 0, { deadlineMs: 60_000, what: "the end of the call" });
    letIn.resolve();
    await sensor.getReadings({ name: "b" });
    assert.deepEqual(begun, [`/${GET_READINGS}`, `/${GET_READINGS}`, "second"]);
  });
});

Deno.test("RpcServer reports nothing when the caller of a stream goes away", async () => {
  const reported: unknown[] = [];
  const ended: (Code | undefined)[] = [];
  const options: Partial<RpcServerOptions> = {
    report: (error) => reported.push(error),
    interceptors: [{ after: (_call, outcome) => void ended.push(outcome.code) }],
  };
  await withGrpc(options, async (transport) => {
    const leave = new AbortController();
    const endless = async function* () {
      yield { dataIn: "a" };
      await new Promise((resolve) => leave.signal.addEventListener("abort", resolve));
    };
    const shell = createClient(ShellService, transport);
    await rejection((async () => {
      for await (const _ of shell.shell(endless(), { signal: leave.signal })) leave.abort();
    })());
    await waitFor(() => ended.length > 0, { deadlineMs: 60_000, what: "the end of the call" });
    assert.deepEqual(reported, []);
    assert.notEqual(ended[0], Code.Internal);
  });
});

Deno.test("RpcServer refuses a message that is no message, and one over 32 MiB", async () => {
  await withGrpc({}, async (transport, url) => {
    const huge = "x".repeat(33 * 1024 * 1024);
    const error = await rejection(
      createClient(SensorService, transport).getReadings({ name: huge }),
    );
    assert.equal(error.code, Code.ResourceExhausted);
    const response = await post(url, GET_READINGS, '{"name":');
    assert.equal(response.status, 400);
    await response.body?.cancel();
  });
});

Deno.test("interceptors run in order, after in reverse, and a thrown error is the answer", async () => {
  const log: string[] = [];
  const named = (name: string, deny = false): Interceptor => ({
    before(call) {
      log.push(`${name} before ${call.header("x-ask") ?? ""}`);
      if (deny) throw new ConnectError("denied", Code.PermissionDenied);
    },
    after(_call, outcome: CallOutcome) {
      log.push(`${name} after ${outcome.code === undefined ? "ok" : Code[outcome.code]}`);
    },
  });
  await withGrpc({ interceptors: [named("one"), named("two")] }, async (transport, url) => {
    const options = { headers: { "x-ask": "1" } };
    await createClient(SensorService, transport).getReadings({ name: "s" }, options);
    const expected = ["one before 1", "two before 1", "two after ok", "one after ok"];
    assert.deepEqual(log.splice(0), expected);
    await (await post(url, GET_READINGS, '{"name":"s"}', { "x-ask": "1" })).body?.cancel();
    assert.deepEqual(log.splice(0), expected, "over HTTP/1.1");
  });
  await withGrpc({ interceptors: [named("one"), named("two", true)] }, async (transport) => {
    const error = await rejection(
      createClient(SensorService, transport).getReadings({ name: "s" }),
    );
    assert.equal(error.code, Code.PermissionDenied);
    assert.deepEqual(log.splice(2), ["two after PermissionDenied", "one after PermissionDenied"]);
  });
});

Deno.test("RpcServer serves a service that is added while it runs", async () => {
  const router = new RpcRouter();
  await withGrpc({ router }, async (transport, url) => {
    const sensor = createClient(SensorService, transport);
    assert.equal((await rejection(sensor.getReadings({}))).code, Code.Unimplemented);
    router.service(SensorService, { getReadings: () => ({ readings: {} }) });
    await sensor.getReadings({});
    assert.equal((await post(url, GET_READINGS, "{}")).status, 200);
    assert.equal((await rejection(sensor.doCommand({}))).code, Code.Unimplemented);
  });
});

type Reflection = Client<typeof ServerReflection>;

async function reflect(
  reflection: Reflection,
  question: Parameters<Reflection["serverReflectionInfo"]>[0] extends AsyncIterable<infer Q> ? Q
    : never,
) {
  const questions = async function* () {
    yield question;
  };
  for await (const answer of reflection.serverReflectionInfo(questions())) {
    return answer.messageResponse;
  }
  assert.fail("no answer");
}

Deno.test("reflection lists services and gives the files behind a symbol, v1 and v1alpha", async () => {
  await withGrpc({}, async (transport) => {
    const alpha = createClient(ServerReflectionAlpha, transport) as unknown as Reflection;
    for (const reflection of [createClient(ServerReflection, transport), alpha]) {
      const list = await reflect(reflection, {
        messageRequest: { case: "listServices", value: "" },
      });
      assert.equal(list.case, "listServicesResponse");
      const names = list.value.service.map((service) => service.name);
      assert.ok(names.includes("viam.component.sensor.v1.SensorService"), names.join());
      const files = await reflect(reflection, {
        messageRequest: { case: "fileContainingSymbol", value: names.at(-1)! },
      });
      assert.equal(files.case, "fileDescriptorResponse");
      const unknown = await reflect(reflection, {
        messageRequest: { case: "fileContainingSymbol", value: "no.Such" },
      });
      assert.equal(unknown.case, "errorResponse");
    }
  });
});

Deno.test("reflection knows the extension that marks methods under heartbeat control", async () => {
  await withGrpc({}, async (transport) => {
    const reflection = createClient(ServerReflection, transport);
    const answer = await reflect(reflection, {
      messageRequest: {
        case: "allExtensionNumbersOfType",
        value: "google.protobuf.MethodOptions",
      },
    });
    assert.equal(answer.case, "allExtensionNumbersResponse");
    assert.deepEqual(answer.value.extensionNumber, [84260]);
  });
});

Deno.test("createInProcessTransport() reaches handlers through interceptors and real encoding", async () => {
  const paths: string[] = [];
  const transport = createInProcessTransport(testRouter(), {
    interceptors: [{ before: (call) => void paths.push(call.path) }],
  });
  const { readings } = await createClient(SensorService, transport).getReadings({ name: "s" });
  assert.equal(readings["name"]?.kind.value, "s");
  assert.deepEqual(paths, [`/${GET_READINGS}`]);
});
