/** A machine with a configuration file and everything that one can hold, as processes. */
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MotorService } from "../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  ModuleStatus_State,
  PackageStatus_State,
  RobotService,
} from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { GrpcClient } from "../bench/grpc_client.ts";
import { eventually, Rig } from "./rig.ts";
import { runToEnd } from "./run_to_end.ts";

const PLAIN = fileURLToPath(new URL("../modules/plain.ts", import.meta.url));
const START_PLAIN = `exec '${Deno.execPath()}' run -A --quiet --no-check '${PLAIN}' "$@"`;
const SENSOR = { api: "rdk:component:sensor" };
const SOURCE = { ...SENSOR, name: "source", model: "rdk:builtin:fake" };
const FAR = {
  ...SENSOR,
  name: "far",
  model: "acme:plain:reader",
  attributes: { source: "source" },
};

/** A server with a file that the test writes. */
class LocalMachine implements AsyncDisposable {
  readonly #clients: GrpcClient[] = [];
  private constructor(readonly rig: Rig) {}

  static async start(config: JsonObject): Promise<LocalMachine> {
    const machine = new LocalMachine(await Rig.create());
    await machine.write(config);
    await machine.rig.startServer([], {}, machine.file);
    return machine;
  }

  get file(): string {
    return join(this.rig.dir, "machine-config.json");
  }

  async write(config: JsonObject): Promise<void> {
    const network = { bind_address: `127.0.0.1:${this.rig.serverPort}` };
    await Deno.writeTextFile(this.file, JSON.stringify({ network, ...config }));
  }

  connect(): GrpcClient {
    const client = new GrpcClient(this.rig.serverUrl, "");
    this.#clients.push(client);
    return client;
  }

  async status() {
    return await this.connect().client(RobotService).getMachineStatus({});
  }

  async readings(name: string): Promise<JsonObject> {
    const { readings } = await this.connect().client(SensorService)
      .getReadings({ name }, { timeoutMs: 30_000 });
    return Object.fromEntries(
      Object.entries(readings).map(([key, value]) => [key, toJson(ValueSchema, value)]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client[Symbol.dispose]();
    await this.rig[Symbol.asyncDispose]();
  }
}

async function writeProgram(path: string, script: string): Promise<string> {
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

Deno.test("a motor stops when the client that moved it falls silent", async () => {
  await using machine = await LocalMachine.start({
    components: [{ name: "m", api: "rdk:component:motor", model: "rdk:builtin:fake" }],
  });
  const connection = machine.connect();
  const motor = connection.client(MotorService);
  const { id } = await connection.client(RobotService).startSession({});
  const safety: string[] = [];
  await motor.setPower({ name: "m", powerPct: 0.5 }, {
    headers: { "viam-sid": id },
    onHeader: (headers) => safety.push(headers.get("viam-smrn") ?? ""),
  });
  assert.deepEqual(safety, ["rdk:component:motor/m"]);
  assert.equal((await motor.isPowered({ name: "m" })).isOn, true);
  await eventually(
    "the motor has stopped",
    async () => !(await motor.isPowered({ name: "m" })).isOn,
  );
});

Deno.test("a local module serves a sensor, comes back after a crash and goes with its entry", async () => {
  const rig = await Deno.makeTempDir();
  const program = await writeProgram(join(rig, "plain.sh"), START_PLAIN);
  const modules = [{ name: "plain", executable_path: program }];
  await using machine = await LocalMachine.start({ modules, components: [SOURCE, FAR] });
  try {
    await eventually("the module's sensor answers", () => machine.readings("far"));
    assert.equal((await machine.readings("far"))["a"], 1, "the reading of the sensor behind it");
    const robot = machine.connect().client(RobotService);
    const { models } = await robot.getModelsFromModules({});
    assert.deepEqual(
      models.map(({ moduleName, model, fromLocalModule }) => [moduleName, model, fromLocalModule])
        .sort(),
      ["camera", "eyes", "gauge", "reader"].map((name) => ["plain", `acme:plain:${name}`, true]),
    );
    const { resourceRpcSubtypes } = await robot.resourceRPCSubtypes({});
    assert.ok(
      resourceRpcSubtypes.some(({ subtype }) => subtype?.subtype === "gauge"),
      "the module's own API is listed",
    );

    const sensor = machine.connect().client(SensorService);
    await sensor.doCommand({ name: "far", command: { crash: true } }).catch(() => undefined);
    await eventually("the crash shows", async () => {
      const [module] = (await machine.status()).modules;
      return module?.consecutiveFailures === 1;
    });
    assert.deepEqual(Object.keys(await machine.readings("source")), ["a", "b", "c"]);
    await eventually("the module's sensor answers again", () => machine.readings("far"));

    await robot.restartModule({ idOrName: { case: "moduleName", value: "plain" } });
    await eventually("the restarted module's sensor answers", () => machine.readings("far"));
    await assert.rejects(
      robot.restartModule({ idOrName: { case: "moduleName", value: "none" } }),
      (error: ConnectError) => error.code === Code.NotFound,
    );

    await machine.write({ components: [SOURCE] });
    await eventually("the module is gone", async () => {
      const { modules, resources } = await machine.status();
      return modules.length === 0 && resources.length === 1;
    });
  } finally {
    await Deno.remove(rig, { recursive: true });
  }
});

Deno.test("a module in an archive is unpacked, set up once and started, and anew from a newer one", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(folder, "bin"));
    await writeProgram(join(folder, "bin", "run"), START_PLAIN);
    await writeProgram(join(folder, "setup.sh"), 'echo once >> "$MACHINE_MODULE_DATA/setups"');
    const manifest = { entrypoint: "bin/run", first_run: "setup.sh" };
    await Deno.writeTextFile(join(folder, "meta.json"), JSON.stringify(manifest));
    const archive = join(folder, "plain.tar.gz");
    const pack = async () => {
      const packed = await runToEnd("tar", {
        args: ["-czf", archive, "-C", folder, "bin", "setup.sh", "meta.json"],
      });
      assert.ok(packed.success);
    };
    await pack();
    const modules = [{ name: "packed", executable_path: archive }];
    await using machine = await LocalMachine.start({ modules, components: [SOURCE, FAR] });
    await eventually("the module's sensor answers", () => machine.readings("far"));
    const { packages, modules: [module] } = await machine.status();
    assert.deepEqual(packages.map(({ name, state }) => [name, state]), [
      ["packed", PackageStatus_State.READY],
    ]);
    assert.equal(module?.state, ModuleStatus_State.READY);
    const setups = join(machine.rig.serverHome, "module-data", "local", "packed", "setups");
    assert.equal(await Deno.readTextFile(setups), "once\n");

    await writeProgram(join(folder, "setup.sh"), 'echo new >> "$MACHINE_MODULE_DATA/setups"');
    await pack();
    const idOrName = { case: "moduleName", value: "packed" } as const;
    await machine.connect().client(RobotService).restartModule({ idOrName });
    assert.equal(await Deno.readTextFile(setups), "once\nnew\n");
    const [after] = (await machine.status()).packages;
    assert.notEqual(after?.version, packages[0]?.version);
    await eventually("the module's sensor answers again", () => machine.readings("far"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("jobs and processes run, show, and end with their entries", async () => {
  const folder = await Deno.makeTempDir();
  const mark = join(folder, "mark");
  try {
    const process = {
      id: "writer",
      name: "sh",
      args: ["-c", `while true; do date >> '${mark}'; sleep 0.1; done`],
    };
    const jobs = [{ name: "j", schedule: "100ms", resource: "source", method: "GetReadings" }];
    await using machine = await LocalMachine.start({
      components: [SOURCE],
      jobs,
      processes: [process],
    });
    await eventually("the job has run", async () => {
      const [job] = (await machine.status()).jobStatuses;
      return (job?.recentSuccessfulRuns.length ?? 0) >= 3;
    });
    await eventually("the process writes", () => Deno.stat(mark));
    await machine.write({ components: [SOURCE] });
    await eventually(
      "the job is gone",
      async () => (await machine.status()).jobStatuses.length === 0,
    );
    await eventually("the process has exited", async () => {
      const { size } = await Deno.stat(mark);
      await new Promise((done) => setTimeout(done, 500));
      return (await Deno.stat(mark)).size === size;
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
