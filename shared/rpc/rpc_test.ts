import { create } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { connect } from "node:net";
import { Health } from "../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { ShellService } from "../gen/viam/service/shell/v1/shell_pb.ts";
import { PortInUseError } from "./errors.ts";
import { createGrpcTransport } from "./grpc_transport.ts";
import { createInProcessTransport } from "./in_process.ts";
import type { CallOutcome, Interceptor } from "./interceptor.ts";
import { peerKey } from "./peer.ts";
import { RpcRouter } from "./router.ts";
import { RpcServer, type RpcServerOptions } from "./server.ts";

const text = (value: string): Value =>
  create(ValueSchema, { kind: { case: "stringValue", value } });

/** A sensor that answers by the name it is asked for, and a shell that echoes. */
function testRouter(seen: { aborted?: Promise<void> } = {}): RpcRouter {
  return new RpcRouter()
    .service(SensorService, {
      getReadings(request, context) {
        switch (request.name) {
          case "peer":
            return { readings: { peer: text(JSON.stringify(context.values.get(peerKey))) } };
          case "missing":
            throw new ConnectError("no node found", Code.NotFound);
          case "broken":
            throw new TypeError("secret detail of the code");
          case "slow":
            return new Promise((_, reject) => {
              seen.aborted = new Promise((resolve) => {
                context.signal.addEventListener("abort", () => {
                  resolve();
                  reject(context.signal.reason);
                });
              });
            });
          case "headers":
            context.responseHeader.set("viam-smrn", "rdk:component:sensor/s");
            context.responseTrailer.set("x-end", context.requestHeader.get("x-ask") ?? "");
            return { readings: {} };
          default:
            return { readings: { name: text(request.name) } };
        }
      },
    })
    .service(ShellService, {
      async *shell(requests) {
        for await (const request of requests) {
          if (request.dataIn === "fail") throw new ConnectError("told to", Code.Aborted);
          yield { dataOut: request.dataIn };
        }
      },
    });
}

async function withServer(
  options: Partial<RpcServerOptions>,
  run: (url: string, server: RpcServer) => Promise<void>,
): Promise<void> {
  const server = await RpcServer.start({
    router: testRouter(),
    listen: { hostname: "127.0.0.1", port: 0 },
    ...options,
  });
  try {
    await run(`http://127.0.0.1:${server.address.port}`, server);
  } finally {
    await server.close({ graceMs: 100 });
  }
}

async function withGrpc(
  options: Partial<RpcServerOptions>,
  run: (transport: ReturnType<typeof createGrpcTransport>, url: string) => Promise<void>,
): Promise<void> {
  await withServer(options, async (url) => {
    const transport = createGrpcTransport({ baseUrl: url });
    try {
      await run(transport, url);
    } finally {
      transport.close();
    }
  });
}

async function rejection(promise: Promise<unknown>): Promise<ConnectError> {
  try {
    await promise;
  } catch (error) {
    return ConnectError.from(error);
  }
  assert.fail("the call succeeded");
}

function post(url: string, method: string, body: string, headers: HeadersInit = {}) {
  return fetch(`${url}/${method}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
}

const GET_READINGS = "viam.component.sensor.v1.SensorService/GetReadings";

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
    while (!seen.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
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
    while (ended.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
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

Deno.test("health tells watchers when the server shuts down", async () => {
  const server = await RpcServer.start({
    router: testRouter(),
    listen: { hostname: "127.0.0.1", port: 0 },
  });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const statuses: number[] = [];
  let closing: Promise<void> | undefined;
  for await (const { status } of createClient(Health, transport).watch({})) {
    statuses.push(status);
    closing ??= server.close({ graceMs: 2_000 });
  }
  await closing;
  transport.close();
  assert.deepEqual(statuses, [1, 2]);
});

Deno.test("close() lets a running call finish within the grace time", async () => {
  let finish = () => {};
  const entered = Promise.withResolvers<void>();
  const router = new RpcRouter().service(SensorService, {
    async getReadings() {
      await new Promise<void>((resolve) => {
        finish = resolve;
        entered.resolve();
      });
      return { readings: { done: text("yes") } };
    },
  });
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const call = createClient(SensorService, transport).getReadings({});
  await entered.promise;
  const closing = server.close({ graceMs: 5_000 });
  finish();
  assert.equal((await call).readings["done"]?.kind.value, "yes");
  transport.close();
  await closing;
});

Deno.test("close() does not wait for HTTP connections that are kept open", async () => {
  const server = await RpcServer.start({
    router: testRouter(),
    listen: { hostname: "127.0.0.1", port: 0 },
    http: () => new Response("hello"),
  });
  const socket = connect({ host: "127.0.0.1", port: server.address.port });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await new Promise((resolve) => socket.once("data", resolve));
  await server.close({ graceMs: 3_600_000 });
  await closed;
});

Deno.test("close() ends a stream with UNAVAILABLE, so that its caller connects again", async () => {
  const router = testRouter();
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const first = Promise.withResolvers<void>();
  const endless = async function* () {
    yield { dataIn: "a" };
    await new Promise(() => undefined);
  };
  const ended = rejection((async () => {
    for await (const _ of createClient(ShellService, transport).shell(endless())) first.resolve();
  })());
  await first.promise;
  await server.close({ graceMs: 5_000 });
  assert.equal((await ended).code, Code.Unavailable);
  transport.close();
});

Deno.test("RpcServer.start() says which port is taken", async () => {
  await withServer({}, async (_url, server) => {
    const again = RpcServer.start({
      router: testRouter(),
      listen: { hostname: "127.0.0.1", port: server.address.port },
    });
    await assert.rejects(again, (error: Error) => {
      assert.ok(error instanceof PortInUseError);
      assert.match(error.message, new RegExp(`127.0.0.1:${server.address.port}.*another program`));
      return true;
    });
  });
});

Deno.test("RpcServer listens on a unix socket", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/rpc.sock`;
  try {
    await withServer({ listen: { path } }, async () => {
      const transport = createGrpcTransport({ baseUrl: `unix:${path}` });
      const { readings } = await createClient(SensorService, transport).getReadings({
        name: "peer",
      });
      assert.equal(JSON.parse(String(readings["peer"]?.kind.value)).transport, "unix");
      transport.close();
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Opens a raw connection, sends nothing or some bytes, and waits until the server ends it. */
function rawConnection(port: number, bytes?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect({ host: "127.0.0.1", port }, () => bytes && socket.write(bytes));
    socket.on("data", (chunk) => received += String(chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
  });
}

Deno.test("RpcServer ends a connection that sends nothing within the handshake time", async () => {
  await withServer({ limits: { handshakeMs: 50 } }, async (_url, server) => {
    assert.equal(await rawConnection(server.address.port), "");
    assert.equal(await rawConnection(server.address.port, "PR"), "");
  });
});

Deno.test("RpcServer turns connections away over its limit, and says so", async () => {
  const refused: string[] = [];
  const onRefused = (_address: string, reason: string) => refused.push(reason);
  await withServer({ limits: { total: 1 }, onRefused }, async (_url, server) => {
    const first = connect({ host: "127.0.0.1", port: server.address.port });
    await new Promise((resolve) => first.once("connect", resolve));
    assert.equal(await rawConnection(server.address.port, "GET / HTTP/1.1\r\n\r\n"), "");
    first.destroy();
    assert.deepEqual(refused, ["1 connections are open"]);
  });
});

Deno.test("RpcServer takes the caller's address from a PROXY header when told to", async () => {
  const http = (_request: Request, peer: { address: string; local: boolean }) =>
    new Response(`${peer.address} ${peer.local}`);
  await withServer({ proxyProtocol: true, http }, async (_url, server) => {
    const request = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    const header = "PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n";
    const answer = await rawConnection(server.address.port, header + request);
    assert.match(answer, /203\.0\.113\.7 false$/);
    assert.equal(await rawConnection(server.address.port, request), "", "without a header");
  });
});

Deno.test("RpcServer speaks TLS on the same port for gRPC and HTTP", async () => {
  const ca = await Deno.readTextFile(new URL("./testdata/ca.pem", import.meta.url));
  const tls = {
    cert: await Deno.readTextFile(new URL("./testdata/cert.pem", import.meta.url)),
    key: await Deno.readTextFile(new URL("./testdata/key.pem", import.meta.url)),
  };
  await withServer({ tls, http: () => new Response("hello") }, async (_url, server) => {
    const baseUrl = `https://localhost:${server.address.port}`;
    const transport = createGrpcTransport({ baseUrl, ca });
    const { readings } = await createClient(SensorService, transport).getReadings({ name: "s" });
    assert.equal(readings["name"]?.kind.value, "s");
    transport.close();
    const client = Deno.createHttpClient({ caCerts: [ca] });
    assert.equal(await (await fetch(baseUrl, { client })).text(), "hello");
    client.close();
  });
});

Deno.test("createGrpcTransport() reports an address where nothing listens as UNAVAILABLE", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
  const error = await rejection(createClient(SensorService, transport).getReadings({}));
  assert.equal(error.code, Code.Unavailable);
  transport.close();
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
