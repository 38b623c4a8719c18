/** Calls that are passed on to a module, and the return of one that crashed. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { findGhz, runGhz } from "./ghz.ts";
import { GrpcClient } from "./grpc_client.ts";
import type { Reporter } from "./report.ts";

const PLAIN = fileURLToPath(new URL("../modules/plain.ts", import.meta.url));
const WARM_UP_S = 3;
const RUN_S = 10;
const CRASHES = 5;

/** DoCommand of a built-in sensor and of one of a module in TypeScript. */
export async function benchModules(reporter: Reporter): Promise<void> {
  await using rig = await Rig.create();
  const program = join(rig.dir, "module.sh");
  const command = `exec '${Deno.execPath()}' run -A --quiet --no-check '${PLAIN}' "$@"`;
  await Deno.writeTextFile(program, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  const file = join(rig.dir, "machine-config.json");
  const sensor = { api: "rdk:component:sensor" };
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      network: { bind_address: `127.0.0.1:${rig.serverPort}` },
      modules: [{ name: "plain", executable_path: program }],
      components: [
        { ...sensor, name: "near", model: "rdk:builtin:fake" },
        { ...sensor, name: "far", model: "acme:plain:reader", attributes: { source: "near" } },
      ],
    }),
  );
  await rig.startServer([], {}, file);
  using connection = new GrpcClient(rig.serverUrl, "");
  const client = connection.client(SensorService);
  const isServing = async () => {
    await client.doCommand({ name: "far", command: { env: [] } }, { timeoutMs: 1_000 });
    return true;
  };
  await eventually("the module's sensor answers", isServing);

  const ghz = await findGhz(reporter);
  if (ghz) await benchForwarding(reporter, ghz, rig.serverPort);
  const samples: number[] = [];
  for (let n = 0; n < CRASHES; n++) {
    reporter.note(`crash ${n + 1} …`);
    const started = performance.now();
    await client.doCommand({ name: "far", command: { crash: true } }).catch(() => undefined);
    await eventually("the module's sensor answers again", isServing, 60_000);
    samples.push(performance.now() - started);
  }
  reporter.report("module_crash_to_serving_max", Math.max(...samples), "ms");
}

async function benchForwarding(reporter: Reporter, ghz: string, port: number): Promise<void> {
  for (const inFlight of [64, 1]) {
    for (const name of ["near", "far"]) {
      const load = {
        port,
        call: "viam.component.sensor.v1.SensorService/DoCommand",
        proto: "viam/component/sensor/v1/sensor.proto",
        data: { name, command: { env: [] } },
        inFlight,
      };
      reporter.note(`DoCommand of ${name}, ${inFlight} in flight …`);
      await runGhz(ghz, { ...load, seconds: WARM_UP_S });
      const what = name === "far" ? "forwarded" : "builtin";
      reporter.report(
        `do_command_${what}_${inFlight}`,
        await runGhz(ghz, { ...load, seconds: RUN_S }),
        "calls/s",
      );
    }
  }
}
