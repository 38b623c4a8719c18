/**
 * A module in plain TypeScript, on the wire layer of this project alone. Its arguments are those of
 * every module: ADDRESS [--log-level=LEVEL] [--tcp-mode].
 *
 * - `acme:plain:reader`, a sensor: the readings of the sensor that attribute `source` names, and
 *   how often it was queried.
 * - `acme:plain:gauge`, of the API `acme:component:gauge` that only this module has.
 * - `acme:plain:camera`, whose device is gone while attribute `unplugged` is true.
 * - `acme:plain:eyes`, a vision service: sees each of attribute `classes`, in no image.
 *
 * DoCommand of both: `{"crash": true}` ends the process at once, `{"log": text, "level": name}`
 * sends a line to the server, `{"env": [names]}` prints variables.
 *
 * Variables: PLAIN_START_DELAY_MS before it serves; PLAIN_READY_DELAY_MS before each answer to
 * Ready; PLAIN_NEVER_READY; PLAIN_IGNORE_TERM; PLAIN_PRINT, a text to print once it serves;
 * PLAIN_ADD_DELAY_MS before each answer to AddResource.
 */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampNow, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type ServiceImpl } from "@connectrpc/connect";
import { CameraService } from "../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { LogEntrySchema } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { ModuleService } from "../../shared/gen/viam/module/v1/module_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { VisionService } from "../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";

import { GAUGE_API, GaugeService } from "./gauge.ts";

const SENSOR_API = "rdk:component:sensor";
const CAMERA_API = "rdk:component:camera";
const VISION_API = "rdk:service:vision";

interface Entry {
  readonly attributes: JsonObject;
  readonly dependencies: readonly string[];
  asked: number;
}

const variable = (name: string) => Deno.env.get(name) ?? "";
const pause = (name: string) =>
  new Promise((resolve) => setTimeout(resolve, Number(variable(name)) || 0));

const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** The resources it was given, by full name. */
const resources = new Map<string, Entry>();
let parent: ReturnType<typeof createGrpcTransport> | undefined;

function found(api: string, name: string): Entry {
  const entry = resources.get(`${api}/${name}`);
  if (!entry) throw new ConnectError(`the module has no ${api}/${name}`, Code.NotFound);
  entry.asked++;
  return entry;
}

function theParent() {
  if (!parent) throw new ConnectError("the module is not ready", Code.Unavailable);
  return parent;
}

const moduleMethods: Partial<ServiceImpl<typeof ModuleService>> = {
  async ready({ parentAddress }) {
    await pause("PLAIN_READY_DELAY_MS");
    const isPath = parentAddress.startsWith("/");
    parent ??= createGrpcTransport({
      baseUrl: isPath ? `unix:${parentAddress}` : `http://${parentAddress}`,
    });
    const handler = (api: string, protoService: string, model: string) => {
      const [namespace = "", type = "", subtype = ""] = api.split(":");
      return {
        subtype: { subtype: { namespace, type, subtype }, protoService },
        models: [model],
      };
    };
    return {
      ready: variable("PLAIN_NEVER_READY") === "",
      handlermap: {
        handlers: [
          handler(SENSOR_API, SensorService.typeName, "acme:plain:reader"),
          handler(GAUGE_API, GaugeService.typeName, "acme:plain:gauge"),
          handler(CAMERA_API, CameraService.typeName, "acme:plain:camera"),
          handler(VISION_API, VisionService.typeName, "acme:plain:eyes"),
        ],
      },
    };
  },
  validateConfig({ config }) {
    if (config?.model !== "acme:plain:reader") return {};
    const source = config.attributes?.["source"];
    if (typeof source !== "string") {
      throw new ConnectError(
        "attributes.source: name of a sensor is missing",
        Code.InvalidArgument,
      );
    }
    return { dependencies: [source, "framesystem"] };
  },
  async addResource({ config, dependencies }) {
    await pause("PLAIN_ADD_DELAY_MS");
    const name = `${config?.api}/${config?.name}`;
    if (resources.has(name)) throw new ConnectError(`${name} is there`, Code.AlreadyExists);
    resources.set(name, { attributes: config?.attributes ?? {}, dependencies, asked: 0 });
    return {};
  },
  removeResource({ name }) {
    if (!resources.delete(name)) throw new ConnectError(`no ${name}`, Code.NotFound);
    print(`removed ${name}`);
    return {};
  },
};

async function command(given: JsonObject | undefined): Promise<JsonObject> {
  if (given?.["crash"] === true) Deno.exit(70);
  if (typeof given?.["log"] === "string") {
    const entry = create(LogEntrySchema, {
      level: String(given["level"] ?? "info"),
      loggerName: "lines",
      message: given["log"],
      time: timestampNow(),
      fields: [{ Key: "answer", Type: 11, Integer: 42, String: "", Interface: null }],
    });
    await createClient(RobotService, theParent())
      .log({ logs: [entry] });
  }
  const names = Array.isArray(given?.["env"]) ? given["env"].map(String) : [];
  return Object.fromEntries(names.map((name) => [name, Deno.env.get(name) ?? null]));
}

const number = (value: number): Value =>
  create(ValueSchema, { kind: { case: "numberValue", value } });

const sensorMethods: Partial<ServiceImpl<typeof SensorService>> = {
  async getReadings({ name }) {
    const entry = found(SENSOR_API, name);
    const source = entry.dependencies.find((dependency) => dependency.startsWith(SENSOR_API)) ?? "";
    const { readings } = await createClient(SensorService, theParent())
      .getReadings({ name: source.slice(source.indexOf("/") + 1) });
    return { readings: { ...readings, asked: number(entry.asked) } };
  },
  async doCommand({ name, command: given }) {
    found(SENSOR_API, name);
    return { result: await command(given) };
  },
};

const gaugeMethods = {
  read({ name, unit }: { name: string; unit: string }) {
    const { attributes } = found(GAUGE_API, name);
    return { value: Number(attributes["value"] ?? 0), note: unit };
  },
  async *watch({ name, count }: { name: string; count: number }) {
    found(GAUGE_API, name);
    for (let value = 1; value <= count; value++) yield { value, note: "" };
  },
  async doCommand({ name, command: given }: { name: string; command?: JsonObject }) {
    found(GAUGE_API, name);
    return { result: await command(given) };
  },
};

const cameraMethods: Partial<ServiceImpl<typeof CameraService>> = {
  getImages({ name }) {
    if (!found(CAMERA_API, name).attributes["unplugged"]) return {};
    throw new ConnectError("/dev/video0 is gone", Code.Internal);
  },
};

const visionMethods: Partial<ServiceImpl<typeof VisionService>> = {
  captureAllFromCamera({ name }) {
    const { attributes } = found(VISION_API, name);
    const classes = Array.isArray(attributes["classes"]) ? attributes["classes"].map(String) : [];
    return {
      detections: classes.map((className) => ({ className, confidence: 0.9 })),
      classifications: classes.map((className) => ({ className, confidence: 0.8 })),
    };
  },
};

if (import.meta.main) {
  if (variable("PLAIN_IGNORE_TERM") !== "") Deno.addSignalListener("SIGTERM", () => {});
  await pause("PLAIN_START_DELAY_MS");
  const address = Deno.args[0] ?? "";
  const [hostname = "", port = ""] = address.split(":");
  await RpcServer.start({
    router: new RpcRouter()
      .service(ModuleService, moduleMethods)
      .service(SensorService, sensorMethods)
      .service(CameraService, cameraMethods)
      .service(VisionService, visionMethods)
      .service(GaugeService, gaugeMethods as unknown as Partial<ServiceImpl<typeof GaugeService>>),
    listen: Deno.args.includes("--tcp-mode") ? { hostname, port: Number(port) } : { path: address },
  });
  if (variable("PLAIN_PRINT") !== "") print(variable("PLAIN_PRINT"));
}
