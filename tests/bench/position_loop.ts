import { join } from "node:path";
import { MotorService } from "../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { GrpcClient } from "./grpc_client.ts";
import type { Reporter } from "./report.ts";

const WANTED_RATE = 5_000;
/** The motor keeps the lateness of its last 1000 steps: ten seconds. */
const RUN_MS = 15_000;
/** Calls that wait for an answer at the most. More would measure how they queue. */
const MOST_IN_FLIGHT = 16;

/** How late the position loop of a motor comes while readings are read 5,000 times a second. */
export async function benchPositionLoop(reporter: Reporter): Promise<void> {
  await using rig = await Rig.create();
  const file = join(rig.dir, "motor.json");
  await Deno.writeTextFile(file, JSON.stringify(config(rig.serverPort)));
  await rig.startServer([], {}, file);
  using client = new GrpcClient(rig.serverUrl, "");
  const motor = client.client(MotorService);
  await eventually("the motor turns", () => motor.setRPM({ name: "motor", rpm: 60 }));
  for (const rate of [0, WANTED_RATE]) {
    reporter.note(`position loop with ${rate} GetReadings a second …`);
    const reached = await load(rig.serverUrl, rate);
    const { result } = await motor.getStatus({ name: "motor" });
    const loop = result?.["control_loop"] as { late_ms_p99: number; late_ms_max: number };
    const suffix = rate === 0 ? "idle" : "loaded";
    reporter.report(`position_loop_late_p99_${suffix}`, loop.late_ms_p99, "ms");
    reporter.report(`position_loop_late_max_${suffix}`, loop.late_ms_max, "ms");
    if (rate > 0) reporter.report("position_loop_get_readings", reached, "calls/s");
  }
}

/** Calls at that rate; returns the rate of answers. */
async function load(url: string, rate: number): Promise<number> {
  using client = new GrpcClient(url, "");
  const sensor = client.client(SensorService);
  const started = performance.now();
  let [sent, answered] = [0, 0];
  let failed: unknown;
  while (performance.now() - started < RUN_MS) {
    const due = Math.floor((performance.now() - started) / 1_000 * rate);
    while (sent < due && sent - answered < MOST_IN_FLIGHT) {
      sent++;
      sensor.getReadings({ name: "fake" }).then(() => answered++, (error) => failed = error);
    }
    if (failed !== undefined) throw failed;
    await new Promise((done) => setTimeout(done, 1));
  }
  return answered / ((performance.now() - started) / 1_000);
}

function config(port: number) {
  const component = (name: string, type: string, model: string, attributes: unknown = {}) => ({
    ...{ name, api: `rdk:component:${type}`, model: `rdk:builtin:${model}`, attributes },
  });
  return {
    network: { bind_address: `127.0.0.1:${port}` },
    components: [
      component("fake", "sensor", "fake"),
      component("board", "board", "simulated", {
        digital_interrupts: [{ name: "a", pin: "20" }, { name: "b", pin: "21" }],
        motors: [{ name: "m", pwm: 1, dir: 2, encoder_a: 20, encoder_b: 21 }],
      }),
      component("encoder", "encoder", "incremental", { board: "board", pins: { a: "a", b: "b" } }),
      component("motor", "motor", "gpio", {
        ...{ board: "board", encoder: "encoder", pins: { pwm: "1", dir: "2" } },
        ...{ ticks_per_rotation: 100, max_rpm: 100 },
      }),
    ],
  };
}
