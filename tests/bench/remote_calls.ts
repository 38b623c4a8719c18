import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { processorMs } from "./footprint.ts";
import type { GrpcClient } from "./grpc_client.ts";
import { percentile } from "./report.ts";

const IN_FLIGHT = [64, 16];
const WARM_UP_S = 3;
const TURN_S = 1.5;
const TURNS = 9;

/** Two sensors, one behind a remote, and the processes that answer for them. */
export interface CalledMachines {
  readonly own: string;
  readonly through: string;
  readonly near: number;
  readonly far: number;
}

/**
 * Calls of a machine's own sensor and of one behind a remote, in short turns: what others do on the
 * host, and how long the programs have run, is alike in both. Medians; processor time is of all calls.
 */
export async function benchRemoteCalls(
  client: GrpcClient,
  { own, through, near, far }: CalledMachines,
  report: (figure: string, value: number, unit: string) => void,
): Promise<void> {
  const sensor = client.client(SensorService);
  for (const inFlight of IN_FLIGHT) {
    const run = (name: string, seconds: number) =>
      callFor(seconds, inFlight, () => sensor.getReadings({ name }));
    for (const name of [own, through]) await run(name, WARM_UP_S);
    const rates: number[] = [];
    const shares: number[] = [];
    const used = { local: 0, near: 0, far: 0 };
    const calls = { local: 0, through: 0 };
    for (let turn = 0; turn < TURNS; turn++) {
      const before = await processorMs(near);
      const local = await run(own, TURN_S);
      const [between, farBefore] = [await processorMs(near), await processorMs(far)];
      const remote = await run(through, TURN_S);
      used.local += between - before;
      used.near += await processorMs(near) - between;
      used.far += await processorMs(far) - farBefore;
      calls.local += local.calls;
      calls.through += remote.calls;
      rates.push(local.perSecond);
      shares.push(remote.perSecond / local.perSecond * 100);
    }
    report(`remote_calls_of_local_${inFlight}`, percentile(shares, 0.5), "%");
    report(`remote_calls_of_local_${inFlight}_least`, percentile(shares, 0), "%");
    report(`local_calls_${inFlight}`, percentile(rates, 0.5), "calls/s");
    report(`local_call_processor_${inFlight}`, used.local / calls.local * 1_000, "µs");
    report(`remote_call_processor_near_${inFlight}`, used.near / calls.through * 1_000, "µs");
    report(`remote_call_processor_far_${inFlight}`, used.far / calls.through * 1_000, "µs");
  }
}

async function callFor(
  seconds: number,
  inFlight: number,
  call: () => Promise<unknown>,
): Promise<{ readonly calls: number; readonly perSecond: number }> {
  const started = performance.now();
  let calls = 0;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (performance.now() - started < seconds * 1_000) {
      await call();
      calls++;
    }
  }));
  return { calls, perSecond: calls / (performance.now() - started) * 1_000 };
}
