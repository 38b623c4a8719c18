import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { findGhz, runGhz } from "./ghz.ts";
import { GrpcClient } from "./grpc_client.ts";
import type { Reporter } from "./report.ts";

/** What is called, as ghz wants it. */
export const GET_READINGS = {
  call: "viam.component.sensor.v1.SensorService/GetReadings",
  proto: "viam/component/sensor/v1/sensor.proto",
  data: { name: "fake" },
};
const WARM_UP_S = 3;
const RUN_S = 10;

/** SensorService/GetReadings with three values through the public port, over one connection. */
export async function benchThroughput(reporter: Reporter): Promise<void> {
  await using rig = await Rig.create();
  await rig.startCloud();
  await rig.startServer();
  await eventually("the sensor answers", () => rig.readings("fake"));
  const { accessToken } = await rig.server();
  const ghz = await findGhz(reporter);
  for (const inFlight of [64, 1]) {
    reporter.note(`GetReadings, ${inFlight} in flight, by ${ghz ? "ghz" : "our own client"} …`);
    const run = (seconds: number) =>
      ghz === undefined
        ? runOwnClient(rig.serverUrl, accessToken, inFlight, seconds)
        : runGhz(ghz, { ...GET_READINGS, port: rig.serverPort, accessToken, inFlight, seconds });
    await run(WARM_UP_S);
    const suffix = ghz === undefined ? "_own_client" : "";
    reporter.report(`get_readings_${inFlight}${suffix}`, await run(RUN_S), "calls/s");
  }
}

/** Calls a second. Slower than ghz, since it shares the processors with the server and is no Go program. */
export async function runOwnClient(
  url: string,
  accessToken: string,
  inFlight: number,
  seconds: number,
): Promise<number> {
  using grpc = new GrpcClient(url, accessToken);
  const sensor = grpc.client(SensorService);
  const started = performance.now();
  let calls = 0;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (performance.now() - started < seconds * 1000) {
      await sensor.getReadings({ name: "fake" });
      calls++;
    }
  }));
  return calls / ((performance.now() - started) / 1000);
}
