import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { AttributeError } from "../../resources/graph/attributes.ts";
import { hasReadings, type Sensor } from "../../resources/graph/resource.ts";
import { construct as constructModel } from "../testing.ts";
import { type HostAttributes, HostSensor, hostSensorModel } from "./host_sensor.ts";
import type { Counters, HostSource } from "./host_source.ts";
import { portableHostSource, sumCpuTimes } from "./host_source_portable.ts";
import { ratesBetween } from "./rates.ts";

const KEYS = [
  "cpu_percent",
  "load_1m",
  "load_5m",
  "load_15m",
  "memory_total_bytes",
  "memory_used_bytes",
  "memory_used_percent",
  "disk_total_bytes",
  "disk_used_bytes",
  "disk_used_percent",
  "network_rx_bytes_per_second",
  "network_tx_bytes_per_second",
  "network_rx_bytes",
  "network_tx_bytes",
  "uptime_seconds",
  "process_count",
  "cpu_count",
  "hostname",
  "os",
];

/** A source whose counters the test moves. */
function scripted() {
  let counters: Counters = { cpu: { busy: 0, total: 0 }, network: { rxBytes: 0, txBytes: 0 } };
  let samples = 0;
  const source: HostSource = {
    facts: () => ({ hostname: "h", os: "o", cpuCount: 2 }),
    counters: () => (samples++, counters),
    gauges: () => ({
      load: [1, 2, 3],
      memory: { totalBytes: 1000, usedBytes: 250 },
      disk: { totalBytes: 1000, usedBytes: 600, availableBytes: 200 },
      uptimeSeconds: 9,
      processCount: 4,
    }),
  };
  const move = (busy: number, idle: number, rxBytes: number, txBytes: number) =>
    counters = {
      cpu: { busy: counters.cpu.busy + busy, total: counters.cpu.total + busy + idle },
      network: {
        rxBytes: counters.network.rxBytes + rxBytes,
        txBytes: counters.network.txBytes + txBytes,
      },
    };
  return { source, move, samples: () => samples };
}

const log = memoryLogger();

Deno.test("getReadings() has every key and rates over the time since the last call", async () => {
  const clock = new FakeClock();
  const { source, move } = scripted();
  const sensor = await HostSensor.start(source, clock, log);
  await clock.advance(1_000);
  move(50, 150, 2_000, 500);
  const first = await sensor.getReadings();
  assert.deepEqual(Object.keys(first), KEYS);
  assert.equal(first["cpu_percent"], 25);
  assert.equal(first["network_rx_bytes_per_second"], 2_000);
  assert.equal(first["network_tx_bytes_per_second"], 500);
  assert.equal(first["memory_used_percent"], 25);
  assert.equal(first["disk_used_percent"], 75, "as df: of what ordinary users can have");

  await clock.advance(2_000);
  move(100, 0, 1_000, 0);
  const second = await sensor.getReadings();
  assert.equal(second["cpu_percent"], 100);
  assert.equal(second["network_rx_bytes_per_second"], 500);
  assert.equal(second["network_rx_bytes"], 3_000);
  sensor.close();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("getReadings() waits for a span when it is called right after the start", async () => {
  const clock = new FakeClock();
  const { source, move } = scripted();
  const sensor = await HostSensor.start(source, clock, log);
  const reading = sensor.getReadings();
  move(10, 10, 100, 0);
  await clock.advance(200);
  assert.equal((await reading)["cpu_percent"], 50);
  sensor.close();
});

Deno.test("getReadings() is about the last seconds when nobody asked for long", async () => {
  const clock = new FakeClock();
  const { source, move } = scripted();
  const sensor = await HostSensor.start(source, clock, log);
  await clock.advance(30_000);
  move(1_000_000, 0, 1_000_000, 0);
  await clock.advance(31_000);
  move(0, 100, 0, 0);
  const reading = await sensor.getReadings();
  assert.equal(reading["cpu_percent"], 0);
  assert.equal(reading["network_rx_bytes_per_second"], 0);
  sensor.close();
});

Deno.test("getReadings() reads the system once when many ask at the same time", async () => {
  const clock = new FakeClock();
  const { source, samples } = scripted();
  const sensor = await HostSensor.start(source, clock, log);
  await clock.advance(1_000);
  const before = samples();
  await Promise.all(Array.from({ length: 50 }, () => sensor.getReadings()));
  assert.equal(samples() - before, 1);
  await clock.advance(101);
  await sensor.getReadings();
  assert.equal(samples() - before, 2);
  sensor.close();
});

Deno.test("getReadings() tries again when a reading failed", async () => {
  const clock = new FakeClock();
  const { source } = scripted();
  const good = source.gauges;
  const sensor = await HostSensor.start(source, clock, log);
  await clock.advance(1_000);
  source.gauges = () => Promise.reject(new Error("gone"));
  await assert.rejects(() => sensor.getReadings(), /gone/);
  source.gauges = good;
  assert.equal((await sensor.getReadings())["load_1m"], 1);
  sensor.close();
});

Deno.test("ratesBetween() gives zero when a counter went back or no time passed", () => {
  const at = (atMs: number, busy: number, rxBytes: number) => ({
    atMs,
    cpu: { busy, total: busy },
    network: { rxBytes, txBytes: 0 },
  });
  assert.equal(ratesBetween(at(0, 5, 500), at(1000, 5, 100)).rxBytesPerSecond, 0);
  assert.deepEqual(ratesBetween(at(0, 5, 1), at(0, 5, 9)), {
    cpuPercent: 0,
    rxBytesPerSecond: 0,
    txBytesPerSecond: 0,
  });
});

function construct(attributes: Record<string, unknown>): Promise<Sensor> {
  return constructModel<Sensor, HostAttributes>(
    hostSensorModel({ clock: systemClock }),
    attributes as JsonObject,
    { log },
  ).then((resource) => {
    assert.ok(hasReadings(resource));
    return resource;
  });
}

Deno.test("hostSensorModel() reads this host when it is built for real", async () => {
  const sensor = await construct({ disk_path: Deno.cwd() });
  const reading = await sensor.getReadings(undefined, { signal: new AbortController().signal });
  await sensor.close?.();
  assert.deepEqual(Object.keys(reading), KEYS);
  assert.ok(Number(reading["memory_total_bytes"]) > 1e6);
  assert.ok(Number(reading["disk_total_bytes"]) > 1e6);
  assert.ok(Number(reading["uptime_seconds"]) > 0);
  assert.ok(Number(reading["cpu_percent"]) >= 0 && Number(reading["cpu_percent"]) <= 100);
  assert.equal(reading["hostname"], Deno.hostname());
});

Deno.test("hostSensorModel() names path, found and allowed when an attribute does not fit", async () => {
  await assert.rejects(() => construct({ disk_path: 5 }), (error) => {
    assert.ok(error instanceof AttributeError);
    assert.equal(
      error.message,
      "attributes.disk_path: found 5, allowed: a string that is not empty",
    );
    return true;
  });
  await assert.rejects(
    () => construct({ interfaces: ["eth0", ""] }),
    /attributes\.interfaces\[1\]/,
  );
});

Deno.test("hostSensorModel() fails at once when the disk path does not exist", async () => {
  await assert.rejects(() => construct({ disk_path: "/does/not/exist" }), (error) => {
    assert.equal(
      (error as Error).message,
      "cannot look at the disk of attributes.disk_path /does/not/exist: " +
        "it or its folder does not exist (ENOENT)",
    );
    return true;
  });
});

Deno.test("portableHostSource() asks Windows' own tools for network and processes", async () => {
  const calls: string[] = [];
  const source = portableHostSource(
    { diskPath: Deno.cwd(), interfaces: undefined },
    "windows",
    (command) => {
      calls.push(command);
      return Promise.resolve(command === "netstat" ? "Bytes  10  20\r\n" : '"System","4"\r\n');
    },
  );
  assert.deepEqual((await source.counters()).network, { rxBytes: 10, txBytes: 20 });
  assert.equal((await source.gauges()).processCount, 1);
  assert.deepEqual(calls, ["netstat", "tasklist"]);
});

Deno.test("sumCpuTimes() adds all processors", () => {
  const times = { user: 1, nice: 1, sys: 1, idle: 7, irq: 0 };
  assert.deepEqual(sumCpuTimes([{ times }, { times }]), { busy: 6, total: 20 });
});
