/** A machine's resource graph with real modules and a port, in the process of the test. */
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { servedApi } from "../../server/serving/apis/served_api.ts";
import { getReadingsMethod } from "../../server/serving/apis/get_readings.ts";
import { LearnedApis } from "../../server/serving/apis/learned_apis.ts";
import {
  ModuleManager,
  type ModuleManagerOptions,
} from "../../server/modules/manager/module_manager.ts";
import type { ModuleSnapshot } from "../../server/modules/manager/module_status.ts";
import { ParentServer } from "../../server/modules/manager/parent_server.ts";
import type { WantedModule } from "../../server/modules/manager/wanted_module.ts";
import { anyAttributes } from "../../server/resources/graph/attributes.ts";
import { toResourceName } from "../../server/resources/graph/name.ts";
import { ResourceManager } from "../../server/resources/graph/manager.ts";
import { ModelRegistry } from "../../server/resources/graph/registry.ts";
import type { Sensor } from "../../server/resources/graph/resource.ts";
import type { ResourceSpec } from "../../server/resources/graph/target.ts";
import { BoardService } from "../../shared/gen/viam/component/board/v1/board_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { type MemoryLogger, memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { GAUGE_API } from "./gauge.ts";

export const SENSOR_API = "rdk:component:sensor";
const BOARD_API = "rdk:component:board";

export interface Machine {
  readonly folder: string;
  readonly home: string;
  readonly modules: ModuleManager;
  readonly resources: ResourceManager;
  readonly log: MemoryLogger;
  /** The machine's public port. */
  readonly transport: Transport;
  readonly sensor: Client<typeof SensorService>;
}

const PLAIN = fileURLToPath(new URL("plain.ts", import.meta.url));

/** Runs `use` on a machine, then ends it with all its modules. */
export async function withMachine(
  use: (machine: Machine) => Promise<void>,
  options: Partial<ModuleManagerOptions> = {},
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "modules-test-" });
  const log = memoryLogger("rdk");
  const registry = new ModelRegistry().register({
    api: SENSOR_API,
    model: "rdk:builtin:fake",
    attributes: anyAttributes,
    construct: (): Sensor => ({ getReadings: () => ({ a: 1, b: 2 }) }),
  }).register({
    api: BOARD_API,
    model: "rdk:builtin:linux",
    attributes: anyAttributes,
    construct: () => ({ doCommand: thermometerChip }),
  });
  const resources = new ResourceManager({ registry, clock: systemClock, log });
  const learned = new LearnedApis(
    [
      servedApi(SENSOR_API, SensorService, getReadingsMethod),
      servedApi(BOARD_API, BoardService),
    ],
    resources.index,
  );
  const home = join(folder, "home");
  const modules: ModuleManager = new ModuleManager({
    registry,
    resourcesChanged: () => resources.refresh(),
    learned,
    parent: new ParentServer({ mount, log, temporaryFolder: folder }),
    processes: systemProcesses(),
    clock: systemClock,
    log: log.child("modmanager"),
    writeLog: (line) => log.entries.push(line),
    facts: () => ({
      primaryOrgId: "org-1",
      locationId: "loc-1",
      machineId: "machine-1",
      machinePartId: "part-1",
      machineFqdn: "m.example",
      apiKeyId: "key-id",
      apiKey: "key-secret",
      tracing: false,
    }),
    home,
    readVariables: () => Deno.env.toObject(),
    startupTimeoutMs: 90_000,
    ...options,
  });
  function mount(router: RpcRouter): () => void {
    learned.mount(router);
    router.service(RobotService, {
      resourceNames: () => ({
        resources: [...resources.ready()].map(({ api, name }) => toResourceName(api, name)),
      }),
      log({ logs }, { requestHeader }) {
        modules.writeLog(logs, requestHeader.get("modname") ?? undefined);
        return {};
      },
    });
    return () => learned.unmount(router);
  }
  const router = new RpcRouter();
  mount(router);
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const sensor = createClient(SensorService, transport);
  try {
    await use({ folder, home, modules, resources, log, transport, sensor });
  } catch (error) {
    throw new Error(`${(error as Error).message}\nThe log:\n${log.text()}`, { cause: error });
  } finally {
    await modules.close();
    await resources.close();
    transport.close();
    await server.close({ graceMs: 100 });
    await Deno.remove(folder, { recursive: true });
  }
}

/** A board with a TMP102 at 25.5 °C on its I2C bus 1. */
function thermometerChip({ i2c }: JsonObject): JsonObject {
  const { bus, address, write, read } = i2c as JsonObject;
  const isFirst = Array.isArray(write) && write[0] === 0 && write.length === 1;
  if (bus !== 1 || address !== 72 || !isFirst || read !== 2) {
    throw new Error(`nothing answers ${JSON.stringify(i2c)}`);
  }
  return { read: [25, 128] };
}

/** Writes a program into a folder that runs a shell script. */
export async function scriptModule(
  folder: string,
  name: string,
  script: string,
  fields: Partial<WantedModule> = {},
): Promise<WantedModule> {
  const executable = join(folder, `${name}.sh`);
  await Deno.writeTextFile(executable, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { name, executable, root: "", env: {}, tcpMode: false, ...fields };
}

/** The module of `plain.ts`. */
export function plainModule(
  folder: string,
  name: string,
  fields: Partial<WantedModule> = {},
): Promise<WantedModule> {
  const run = `exec '${Deno.execPath()}' run -A --quiet --no-check '${PLAIN}' "$@"`;
  return scriptModule(folder, name, run, fields);
}

/** A built-in sensor. */
export const sourceSpec: ResourceSpec = {
  name: "source",
  api: SENSOR_API,
  model: "rdk:builtin:fake",
  attributes: {},
  dependsOn: [],
};

/** A modular sensor that reads {@link sourceSpec}. */
export function readerSpec(name: string, model = "acme:plain:reader"): ResourceSpec {
  return { name, api: SENSOR_API, model, attributes: { source: "source" }, dependsOn: [] };
}

/** A gauge, of an API that only the modules know. */
export function gaugeSpec(name: string, model = "acme:plain:gauge"): ResourceSpec {
  return { name, api: GAUGE_API, model, attributes: { value: 21.5 }, dependsOn: [] };
}

/** The readings of a sensor through the machine's port. */
export async function readings(machine: Machine, name: string): Promise<JsonObject> {
  const answer = await machine.sensor.getReadings({ name }, { timeoutMs: 60_000 });
  return Object.fromEntries(
    Object.entries(answer.readings).map(([key, value]) => [key, toJson(ValueSchema, value)]),
  );
}

/** What the status says of a module. */
export function statusOf(machine: Machine, name: string): ModuleSnapshot {
  const found = machine.modules.snapshot().find((module) => module.name === name);
  if (!found) throw new Error(`there is no module ${name}`);
  return found;
}

/** Waits until the condition holds. */
export function until(
  what: string,
  condition: () => unknown,
  deadlineMs = 90_000,
): Promise<unknown> {
  return waitFor(condition, { deadlineMs, what });
}
