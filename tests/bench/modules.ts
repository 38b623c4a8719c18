/** Calls that are passed on to a module, and the return of one that crashed. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { ReadyResponseSchema } from "../../shared/gen/viam/module/v1/module_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { findGhz, runGhz } from "./ghz.ts";
import { GrpcClient } from "./grpc_client.ts";
import type { Reporter } from "./report.ts";

const PLAIN = fileURLToPath(new URL("../modules/plain.ts", import.meta.url));
const LEAN_MODEL = "acme:lean:sensor";
/** What the lean module reports it has. */
const READY_RESPONSE = toBinary(
  ReadyResponseSchema,
  create(ReadyResponseSchema, {
    ready: true,
    handlermap: {
      handlers: [{
        subtype: {
          subtype: { namespace: "rdk", type: "component", subtype: "sensor" },
          protoService: SensorService.typeName,
        },
        models: [LEAN_MODEL],
      }],
    },
  }),
).toBase64();
const WARM_UP_S = 3;
const RUN_S = 10;
const CRASHES = 5;

/** DoCommand of a built-in sensor, of one of a module in TypeScript, and of one in Go that is lean. */
export async function benchModules(reporter: Reporter): Promise<void> {
  await using rig = await Rig.create();
  const program = join(rig.dir, "module.sh");
  const command = `exec '${Deno.execPath()}' run -A --quiet --no-check '${PLAIN}' "$@"`;
  await Deno.writeTextFile(program, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  const lean = await buildLeanModule(reporter);
  const file = join(rig.dir, "machine-config.json");
  const sensor = { api: "rdk:component:sensor" };
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      network: { bind_address: `127.0.0.1:${rig.serverPort}` },
      modules: [
        { name: "plain", executable_path: program },
        ...(lean ? [{ name: "lean", executable_path: lean, env: { READY_RESPONSE } }] : []),
      ],
      components: [
        { ...sensor, name: "near", model: "rdk:builtin:fake" },
        { ...sensor, name: "far", model: "acme:plain:reader", attributes: { source: "near" } },
        ...(lean ? [{ ...sensor, name: "lean", model: LEAN_MODEL }] : []),
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

  const names = ["near", "far"];
  if (lean) {
    names.push("lean");
    await eventually("the lean module's sensor answers", async () => {
      await client.doCommand({ name: "lean", command: {} }, { timeoutMs: 1_000 });
      return true;
    });
  }
  const ghz = await findGhz(reporter);
  if (ghz) await benchForwarding(reporter, ghz, rig.serverPort, names);
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

/** Built with Go into .tools/bin. Undefined where there is no Go, or the build fails. */
async function buildLeanModule(reporter: Reporter): Promise<string | undefined> {
  const path = fileURLToPath(new URL("../../.tools/bin/bench-module", import.meta.url));
  reporter.note("building the lean module …");
  try {
    const { success, stderr } = await new Deno.Command("go", {
      args: ["build", "-o", path, "."],
      cwd: fileURLToPath(new URL("go_module", import.meta.url)),
    }).output();
    if (success) return path;
    reporter.note(`go could not build it: ${new TextDecoder().decode(stderr).trim()}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    reporter.note("there is no Go to build it with");
  }
  return undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  near: "builtin",
  far: "forwarded",
  lean: "forwarded_lean",
};

async function benchForwarding(
  reporter: Reporter,
  ghz: string,
  port: number,
  names: readonly string[],
): Promise<void> {
  for (const inFlight of [64, 1]) {
    for (const name of names) {
      const load = {
        port,
        call: "viam.component.sensor.v1.SensorService/DoCommand",
        proto: "viam/component/sensor/v1/sensor.proto",
        data: { name, command: { env: [] } },
        inFlight,
      };
      reporter.note(`DoCommand of ${name}, ${inFlight} in flight …`);
      await runGhz(ghz, { ...load, seconds: WARM_UP_S });
      reporter.report(
        `do_command_${KINDS[name]}_${inFlight}`,
        await runGhz(ghz, { ...load, seconds: RUN_S }),
        "calls/s",
      );
    }
  }
}
