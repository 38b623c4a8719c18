import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { FAKE_PART, FakeCloud } from "../faults/fake_cloud.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const SAVES = 200;
const POLLED_SAVES = 5;
/** Between two questions to the sensor, so that asking does not keep the server busy. */
const ASK_EVERY_MS = 1;

/** From the call of UpdateRobotPart until GetReadings at the machine answers the new value. */
export async function benchSaveToVisible(reporter: Reporter): Promise<void> {
  reporter.note(`${SAVES} saves with push …`);
  await using rig = await Rig.create();
  await rig.startCloud();
  await rig.startServer();
  await eventually("the sensor answers", () => rig.readings("fake"));
  using cloud = new GrpcClient(rig.cloudUrl, (await rig.cloud()).accessToken);
  using server = new GrpcClient(rig.serverUrl, (await rig.server()).accessToken);
  const app = cloud.client(AppService);
  const sensor = server.client(SensorService);

  const samples: number[] = [];
  for (let n = -10; n < SAVES; n++) {
    const started = performance.now();
    await app.updateRobotPart({
      id: rig.partId,
      name: "bench-main",
      robotConfig: rig.withFakeReadings({ n }),
    });
    for (;;) {
      const { readings } = await sensor.getReadings({ name: "fake" });
      if (readings.n?.kind.value === n) break;
      await new Promise((done) => setTimeout(done, ASK_EVERY_MS));
    }
    if (n >= 0) samples.push(performance.now() - started); // The first ten warm up.
  }
  reporter.report("save_to_visible_p50", percentile(samples, 0.5), "ms");
  reporter.report("save_to_visible_p99", percentile(samples, 0.99), "ms");
  reporter.report("save_to_visible_max", percentile(samples, 1), "ms");
}

/** The same where the machine has no push stream at all and finds a change by asking. */
export async function benchPolledSave(reporter: Reporter): Promise<void> {
  reporter.note(`${POLLED_SAVES} saves without push …`);
  await using rig = await Rig.create();
  await using cloud = await FakeCloud.start();
  const bindAddress = `127.0.0.1:${rig.serverPort}`;
  cloud.config = cloud.machineConfig(bindAddress, 0);
  await Deno.writeTextFile(
    rig.credentialsFile,
    JSON.stringify({ cloud: { app_address: cloud.url, ...FAKE_PART } }),
  );
  await rig.startServer();
  const session = await signIn(rig.serverUrl, {
    type: "robot-secret",
    id: FAKE_PART.id,
    key: FAKE_PART.secret,
  });
  using server = new GrpcClient(rig.serverUrl, session.accessToken);
  const sensor = server.client(SensorService);

  const samples: number[] = [];
  for (let n = 1; n <= POLLED_SAVES; n++) {
    const started = performance.now();
    cloud.config = cloud.machineConfig(bindAddress, n);
    await eventually(`save ${n} is visible`, async () => {
      return (await sensor.getReadings({ name: "fake" })).readings.n?.kind.value === n;
    }, 60_000);
    samples.push(performance.now() - started);
  }
  reporter.report("save_to_visible_without_push_max", percentile(samples, 1), "ms");
}
