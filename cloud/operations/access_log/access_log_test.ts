import assert from "node:assert/strict";
import { createClient } from "@connectrpc/connect";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { AccessLog } from "./access_log.ts";

const PEER = { address: "10.0.0.1", port: 1, transport: "tcp", local: false } as const;

Deno.test("AccessLog writes a line of JSON for calls and requests, without query strings", async () => {
  const clock = new FakeClock("2026-01-02T03:04:05.000Z");
  let text = "";
  let broken = true;
  const accessLog = new AccessLog({
    path: "x",
    clock,
    log: memoryLogger("x"),
    write: (_, more) => {
      if (broken) return Promise.reject(new Error("the disk is full"));
      text += more;
      return Promise.resolve();
    },
  });
  const stop = new AbortController();
  const running = accessLog.run(stop.signal);
  const router = new RpcRouter().service(SensorService, { getReadings: () => ({}) });
  const transport = createInProcessTransport(router, { interceptors: [accessLog.interceptor] });
  await createClient(SensorService, transport).getReadings({ name: "s" });
  const http = accessLog.around(() => new Response("", { status: 404 }));
  await http(
    new Request("http://c/packages/1?secret=abc", { headers: { "user-agent": "curl" } }),
    PEER,
    stop.signal,
  );
  await clock.advance(1_000);
  assert.equal(text, "");
  broken = false;
  stop.abort();
  await running;
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines.length, 2);
  assert.equal(lines[0].method, "/viam.component.sensor.v1.SensorService/GetReadings");
  assert.equal(lines[0].code, "OK");
  const { duration_ms: _, ...request } = lines[1];
  assert.deepEqual(request, {
    time: "2026-01-02T03:04:05.000Z",
    method: "GET /packages/1",
    code: "404",
    user_agent: "curl",
    peer: "10.0.0.1",
  });
});
