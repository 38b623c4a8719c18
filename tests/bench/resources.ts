/** Many resources on one server. */
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  GetMachineStatusResponse_State,
  ResourceStatus_State,
  RobotService,
} from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const COUNTS = [100, 500, 2_000];
/** Changes of the configuration with 500 resources. */
const ADDITIONS = 20;
const IDLE_MS = 10_000;

/** Time until all are ready, memory, one more, and the end. */
export async function benchResources(reporter: Reporter): Promise<void> {
  for (const count of COUNTS) {
    reporter.note(`${count} fake sensors …`);
    await using rig = await Rig.create();
    const file = join(rig.dir, "machine-config.json");
    const write = (sensors: number) => Deno.writeTextFile(file, configText(rig, sensors));
    await write(count);
    await startAndEnd(rig, file); // The first start fills the caches.

    const started = performance.now();
    const server = await rig.startServer([], {}, file);
    using client = new GrpcClient(rig.serverUrl, "");
    const robot = client.client(RobotService);
    await eventually("all resources are ready", async () => {
      const { state, resources } = await robot.getMachineStatus({});
      return state === GetMachineStatusResponse_State.RUNNING && resources.length === count &&
        resources.every(({ state }) => state === ResourceStatus_State.READY);
    });
    reporter.report(`resources_${count}_ready`, performance.now() - started, "ms");
    if (count === 500) {
      reporter.report("resources_500_add_one_p50", await addOne(client, write), "ms");
    }
    await new Promise((done) => setTimeout(done, IDLE_MS));
    const { peak, now } = await memory(server.pid);
    reporter.report(`resources_${count}_rss_peak`, peak, "MiB");
    reporter.report(`resources_${count}_rss_idle`, now, "MiB");
    const ending = performance.now();
    await server.stop(10_000);
    reporter.report(`resources_${count}_end`, performance.now() - ending, "ms");
  }
}

async function startAndEnd(rig: Rig, file: string): Promise<void> {
  const server = await rig.startServer([], {}, file);
  await server.stop(10_000);
}

/** From the write of the file to the first reading of the new sensor; the middle of several. */
async function addOne(
  client: GrpcClient,
  write: (sensors: number) => Promise<void>,
): Promise<number> {
  const sensor = client.client(SensorService);
  const samples: number[] = [];
  for (let n = 1; n <= ADDITIONS; n++) {
    // The calm look at the change before it is over, as it is between changes that people make.
    await new Promise((done) => setTimeout(done, 700));
    const started = performance.now();
    await write(500 + n);
    for (;;) {
      try {
        await sensor.getReadings({ name: `s${499 + n}` });
        break;
      } catch {
        await new Promise((done) => setTimeout(done, 1));
      }
    }
    samples.push(performance.now() - started);
  }
  return percentile(samples, 0.5);
}

function configText(rig: Rig, sensors: number): string {
  const config: JsonObject = {
    network: { bind_address: `127.0.0.1:${rig.serverPort}` },
    components: Array.from({ length: sensors }, (_, n) => ({
      name: `s${n}`,
      api: "rdk:component:sensor",
      model: "rdk:builtin:fake",
    })),
  };
  return JSON.stringify(config);
}

async function memory(pid: number): Promise<{ peak: number; now: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const mebibytes = (key: string) =>
    Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return { peak: mebibytes("VmHWM"), now: mebibytes("VmRSS") };
}
