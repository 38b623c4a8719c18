import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { listenForMetrics, metricsRoute } from "./metrics_access.ts";
import { metricsRig } from "./metrics_testing.ts";

Deno.test("Metrics count calls by method and code, and say what is asked of them", async () => {
  const { metrics, client } = metricsRig();
  await client.getReadings({ name: "s" });
  await client.getReadings({ name: "bad" }).catch(() => undefined);
  const text = await (await metrics.render()).text();
  const method = 'method="/viam.component.sensor.v1.SensorService/GetReadings"';
  for (
    const line of [
      `machine_cloud_calls_total{${method},code="OK"} 1`,
      `machine_cloud_call_duration_seconds_count{${method}} 2`,
      "machine_cloud_calls_running 0",
      "machine_cloud_connected_machines 3",
      'machine_cloud_queue_length{queue="deliveries"} 2',
      'machine_cloud_deliveries_total{state="failed"} 1',
      'machine_cloud_database_bytes{database="cloud.db"} 4096',
      "machine_cloud_certificate_end_timestamp_seconds 1800000000",
      'machine_cloud_info{version="1.2.3"} 1',
    ]
  ) assert.ok(text.includes(`${line}\n`), `${line} in\n${text}`);
  assert.match(text, /^process_resident_memory_bytes \d{7,}$/m);
  assert.match(
    text,
    new RegExp(`^machine_cloud_calls_total\\{${method},code="(?!OK)\\w+"\\} 1$`, "m"),
  );
  const again = await (await metrics.render()).text();
  assert.ok(again.includes('machine_cloud_deliveries_total{state="delivered"} 10\n'));
});

Deno.test("metrics are for who has the token, or who reaches their own port", async () => {
  const { metrics } = metricsRig();
  const route = metricsRoute(metrics, "secret");
  for (const wrong of [undefined, "", "Bearer", "Bearer secre", "Bearer secret2", "secret"]) {
    assert.equal((await route(wrong)).status, 401, String(wrong));
  }
  assert.equal((await route("Bearer secret")).status, 200);
  const listen = { hostname: "127.0.0.1", port: 0 };
  let status = 200;
  const readiness = { answer: () => Promise.resolve(new Response("state", { status })) };
  const server = await listenForMetrics({ metrics, readiness }, listen, memoryLogger());
  try {
    const url = `http://127.0.0.1:${server.address.port}`;
    const answer = await fetch(`${url}/metrics`);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/plain; version=/);
    assert.match(await answer.text(), /^# HELP/);
    for (status of [200, 503]) {
      const ready = await fetch(`${url}/readyz`);
      assert.equal(ready.status, status);
      assert.equal(await ready.text(), "state");
    }
    assert.deepEqual(await (await fetch(`${url}/healthz`)).json(), { status: "ok" });
    const other = await fetch(url);
    assert.equal(other.status, 404);
    await other.body?.cancel();
  } finally {
    await server.close();
  }
});
