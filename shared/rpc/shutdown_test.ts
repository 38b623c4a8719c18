import { Code, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { connect } from "node:net";
import { Health } from "../gen/grpc/health/v1/health_pb.ts";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { ShellService } from "../gen/viam/service/shell/v1/shell_pb.ts";
import { createGrpcTransport } from "./client/grpc_transport.ts";
import { RpcRouter } from "./server/router.ts";
import { RpcServer } from "./server/server.ts";
import { rejection, testRouter, text } from "./testing.ts";

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

Deno.test("leave() sends clients elsewhere one by one, and no call of theirs fails", async () => {
  const entered = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const router = new RpcRouter()
    .service(SensorService, {
      async getReadings() {
        entered.resolve();
        await finish.promise;
        return { readings: { done: text("yes") } };
      },
    })
    .service(ShellService, {
      async *shell(requests) {
        for await (const { dataIn } of requests) yield { dataOut: dataIn };
      },
    });
  const listen = { hostname: "127.0.0.1", port: 0 };
  await using stack = new AsyncDisposableStack();
  const server = await RpcServer.start({ router, listen });
  stack.defer(() => server.close({ graceMs: 5_000 }));
  // Clients of one address share a connection.
  const transports = ["127.0.0.1", "localhost"].map((host) =>
    createGrpcTransport({ baseUrl: `http://${host}:${server.address.port}` })
  );
  for (const transport of transports) stack.defer(() => transport.close());
  const stop = new AbortController();
  const ended: Promise<{ code: Code }>[] = [];
  for (const transport of transports) {
    const first = Promise.withResolvers<void>();
    const endless = async function* () {
      yield { dataIn: "a" };
      await new Promise(() => undefined);
    };
    ended.push(rejection((async () => {
      const answers = createClient(ShellService, transport).shell(endless(), {
        signal: stop.signal,
      });
      for await (const _ of answers) first.resolve();
    })()));
    await first.promise;
  }
  const call = createClient(SensorService, transports[0]!).getReadings({});
  await entered.promise;
  // The second one is not due before all is over.
  const moments = [0, 1];
  const leaving = server.leave({ withinMs: 3_600_000, random: () => moments.shift() ?? 0 });
  assert.equal((await ended[0]!).code, Code.Unavailable);
  finish.resolve();
  assert.equal((await call).readings["done"]?.kind.value, "yes");
  const second = createClient(SensorService, transports[1]!);
  assert.equal((await second.getReadings({})).readings["done"]?.kind.value, "yes");
  stop.abort();
  assert.equal((await ended[1]!).code, Code.Canceled);
  transports[1]!.close();
  await leaving;
});
