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
