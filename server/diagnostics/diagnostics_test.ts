import assert from "node:assert/strict";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import type { Peer } from "../../shared/rpc/server/peer.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { StaticAssets } from "../serving/assets/static_assets.ts";
import { Diagnostics, type DiagnosticsOptions } from "./diagnostics.ts";
import { RequestCounters } from "./request_counters.ts";

const LOCAL: Peer = { address: "127.0.0.1", port: 1, transport: "tcp", local: true };
const machine = (partId?: string) => ({
  partId,
  cloud: undefined,
  graph: () => [{ key: "rdk:component:sensor/s", state: "ready", dependencies: [] }],
  modules: () => [],
});

async function withDiagnostics(
  options: Partial<DiagnosticsOptions>,
  body: (diagnostics: Diagnostics, home: string, clock: FakeClock) => Promise<void>,
): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "machine-diagnostics-" });
  const clock = new FakeClock();
  const diagnostics = new Diagnostics({
    ...{
      ftdc: false,
      ftdcUpload: false,
      printTelemetry: false,
      webProfile: false,
      assets: undefined,
      home,
      clock,
    },
    ...{ version: "1.2.3", log: memoryLogger(), write: () => {} },
    ...options,
  });
  try {
    await body(diagnostics, home, clock);
  } finally {
    await diagnostics.close();
    await Deno.remove(home, { recursive: true });
  }
}

const names = async (folder: string) =>
  (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);

/** Calls a sensor service behind the interceptors. */
async function call(interceptors: Diagnostics["interceptors"], ...fail: boolean[]): Promise<void> {
  const router = new RpcRouter().service(SensorService, {
    getReadings({ name }) {
      if (name === "bad") throw new Error("told to");
      return {};
    },
  });
  const client = createClient(SensorService, createInProcessTransport(router, { interceptors }));
  for (const bad of fail) await client.getReadings({ name: bad ? "bad" : "s" }).catch(() => {});
}

Deno.test("RequestCounters count calls, failures and time by method", async () => {
  const counters = new RequestCounters();
  await call([counters.interceptor], false, true, false);
  const [count, ...others] = [...counters.methods()];
  assert.deepEqual(others, []);
  const { totalMs, ...counted } = count!;
  assert.ok(totalMs > 0);
  assert.deepEqual(counted, {
    path: "/viam.component.sensor.v1.SensorService/GetReadings",
    ended: 3,
    failed: 1,
    running: 0,
  });
});

Deno.test("Diagnostics write nothing and answer nothing when nothing is asked for", async () => {
  await withDiagnostics({}, async (diagnostics, home) => {
    diagnostics.watch(machine());
    await diagnostics.follow({});
    await call(diagnostics.interceptors, false);
    for (const path of ["/debug/pprof/", "/static/x", "/"]) {
      assert.equal(diagnostics.http(new Request(`http://localhost${path}`), LOCAL), undefined);
    }
    assert.deepEqual(await names(home), []);
  });
});

Deno.test("Diagnostics capture into the folder of the part", async () => {
  for (const [partId, folder] of [["p-1", "p-1"], [undefined, "local-config"]] as const) {
    await withDiagnostics({ ftdc: true }, async (diagnostics, home) => {
      diagnostics.watch(machine(partId));
      await call(diagnostics.interceptors, false);
      await diagnostics.close();
      const place = join(home, "diagnostics.data", folder);
      const [name = "", ...others] = await names(place);
      assert.deepEqual(others, []);
      assert.match(name, /^machine-server-2026-01-02T03-04-05Z\.ftdc$/);
      const text = new TextDecoder().decode(await Deno.readFile(join(place, name)));
      for (const part of ["proc.machine-server.RssMB", "resources.ready", "GetReadings.Count"]) {
        assert.ok(text.includes(part), part);
      }
    });
  }
});

Deno.test("Diagnostics follow the configuration for profiles and traces", async () => {
  await withDiagnostics({}, async (diagnostics, home) => {
    diagnostics.watch(machine("p"));
    const graph = () => diagnostics.http(new Request("http://localhost/debug/graph"), LOCAL);
    await diagnostics.follow({ enable_web_profile: true, tracing: { enabled: true, disk: true } });
    assert.match(await (await graph())!.text(), /rdk:component:sensor\/s/);
    await call(diagnostics.interceptors, false);
    await diagnostics.follow({ enable_web_profile: false });
    assert.equal(graph(), undefined);
    assert.deepEqual(await names(join(home, "traces", "p")), ["traces", "traces.jsonl"]);
  });
});

Deno.test("Diagnostics serve profiles by the option, whatever the configuration says", async () => {
  await withDiagnostics({ webProfile: true }, async (diagnostics) => {
    await diagnostics.follow({ enable_web_profile: false });
    const request = new Request("http://localhost/debug/pprof/");
    const remote = await diagnostics.http(request, { ...LOCAL, local: false });
    assert.equal(remote?.status, 403);
    await remote?.body?.cancel();
  });
});

Deno.test("Diagnostics serve static assets to everybody", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-assets-" });
  try {
    await Deno.writeTextFile(join(folder, "a.txt"), "A");
    const assets = await StaticAssets.open(folder);
    await withDiagnostics({ assets }, async (diagnostics) => {
      const request = new Request("http://localhost/static/a.txt");
      const response = await diagnostics.http(request, { ...LOCAL, local: false });
      assert.equal(await response?.text(), "A");
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
