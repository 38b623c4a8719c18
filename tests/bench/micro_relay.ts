import { dialThroughCloud } from "../e2e/dial_through_cloud.ts";
import { eventually, type Rig } from "../e2e/rig.ts";
import { residentMiB } from "./footprint.ts";
import { percentile, type Reporter } from "./report.ts";

const CALLS = 500;
const IN_FLIGHT = 16;
const CONNECTIONS = 8;

/**
 * Calls to a machine-micro-server through the cloud: how long a connection and a call take, how
 * many there are in a second, what the cloud holds for connections.
 *
 * @param cloud process id of the cloud
 */
export async function benchRelay(reporter: Reporter, rig: Rig, cloud: number): Promise<void> {
  const before = await residentMiB(cloud);
  await (await eventually("a connection", () => dialThroughCloud(rig)))[Symbol.asyncDispose]();
  const started = performance.now();
  await using reached = await dialThroughCloud(rig);
  reporter.report("relay_connect", performance.now() - started, "ms");
  const call = () => reached.sensor.getReadings({ name: "fake" });
  const samples: number[] = [];
  for (let n = 0; n < CALLS; n++) {
    const at = performance.now();
    await call();
    samples.push(performance.now() - at);
  }
  reporter.report("relay_call_p50", percentile(samples, 0.5), "ms");
  reporter.report("relay_call_p99", percentile(samples, 0.99), "ms");
  const begun = performance.now();
  let left = 2 * CALLS;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  reporter.report(
    `relay_get_readings_${IN_FLIGHT}`,
    2 * CALLS * 1000 / (performance.now() - begun),
    "calls/s",
  );
  await using more = new AsyncDisposableStack();
  const one = await residentMiB(cloud);
  for (let n = 1; n < CONNECTIONS; n++) more.use(await dialThroughCloud(rig));
  const all = await residentMiB(cloud);
  reporter.report("relay_cloud_before", before, "MiB");
  reporter.report("relay_cloud_1_connection", one, "MiB");
  reporter.report(`relay_cloud_${CONNECTIONS}_connections`, all, "MiB");
}
