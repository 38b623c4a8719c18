import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createClient } from "@connectrpc/connect";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { Traces } from "./traces.ts";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

Deno.test("Traces sends a span of each call by OTLP, within the caller's trace", async () => {
  const received = Promise.withResolvers<{ path: string; body: string }>();
  const collector = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    async (
      request,
    ) => {
      const body = new TextDecoder("latin1").decode(await request.arrayBuffer());
      received.resolve({ path: new URL(request.url).pathname, body });
      return new Response();
    },
  );
  const log = memoryLogger("traces");
  const url = `http://127.0.0.1:${collector.addr.port}/v1/traces`;
  const traces = new Traces({ url, version: "1.2.3", log });
  try {
    const router = new RpcRouter().service(AuthService, {
      authenticate: () => ({ accessToken: "x" }),
    });
    const transport = createInProcessTransport(router, { interceptors: [traces.interceptor] });
    const headers = { traceparent: PARENT };
    await createClient(AuthService, transport).authenticate({}, { headers });
    await traces.close();
    const { path, body } = await received.promise;
    assert.equal(path, "/v1/traces");
    assert.ok(body.includes("proto.rpc.v1.AuthService/Authenticate"));
    assert.ok(body.includes("machine-cloud"));
    const traceId = Uint8Array.fromHex(PARENT.slice(3, 35));
    assert.ok(body.includes(new TextDecoder("latin1").decode(traceId)), "the trace of the caller");
  } finally {
    await collector.shutdown();
  }
});

Deno.test("Traces says once that nobody takes its spans", async () => {
  const log = memoryLogger("traces");
  const failing = {
    export: (_: unknown, done: (result: { code: number; error: Error }) => void) =>
      done({ code: 1, error: new Error("connection refused") }),
    shutdown: () => Promise.resolve(),
  };
  const traces = new Traces({ url: "http://127.0.0.1:1", version: "1", log, exporter: failing });
  const router = new RpcRouter().service(AuthService, { authenticate: () => ({}) });
  const transport = createInProcessTransport(router, { interceptors: [traces.interceptor] });
  await createClient(AuthService, transport).authenticate({});
  await traces.close();
  assert.equal(
    log.entries.filter(({ message }) => message.includes("cannot send traces")).length,
    1,
  );
});
