import { create, type DescMethod, type DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { SensorsService } from "../../../shared/gen/viam/service/sensors/v1/sensors_pb.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { builtinModels } from "../../models/builtin.ts";
import { testEnvironment } from "../../models/testing.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import { addresseeOf } from "../../modules/forwarding/addressee.ts";
import { servedApis } from "./all.ts";

/** Where our text of the services is generated to. */
const GENERATED = new URL("../../../shared/gen/viam/", import.meta.url);

/** No resource API: for tests of transports. */
const NO_API = "viam.component.testecho.v1.TestEchoService";

const FAKE = "rdk:builtin:fake";

/** What a fake may say to a call without arguments; quiet streams are cancelled. */
const ANSWERS = ["ok", "InvalidArgument", "NotFound", "Unknown", "Canceled"];

/** A stream that says nothing for so long has nothing to say. Milliseconds. */
const QUIET_MS = 1_000;

/** What the fakes, and the sensors service, have not. */
const MISSING: ReadonlySet<string> = new Set([
  "rdk:component:board SetPowerMode",
  "rdk:service:sensors DoCommand",
  ...["GetDetections3D", "GetObjectPointClouds"].map((name) => `rdk:service:vision ${name}`),
]);

function fake(api: string): ResourceSpec {
  return { name: "it", api, model: FAKE, attributes: {}, dependsOn: [] };
}

/** A server on a free port with one fake of each API that has one, and the sensors service. */
async function withServer(
  use: (transport: Transport, apis: ReadonlySet<string>) => Promise<void>,
): Promise<void> {
  const registry = builtinModels(testEnvironment());
  const apis = registry.list().filter(({ model }) => model === FAKE).map(({ api }) => api);
  const sensors = { ...fake("rdk:service:sensors"), model: "rdk:builtin:builtin" };
  const resources = new ResourceManager({ registry, clock: systemClock, log: memoryLogger() });
  const router = new RpcRouter();
  for (const api of servedApis) api.mount(router, resources.index);
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  try {
    await resources.apply([...apis.map(fake), sensors], "r1");
    const baseUrl = `http://127.0.0.1:${server.address.port}`;
    const transport = createGrpcTransport({ baseUrl });
    await use(transport, new Set([...apis, sensors.api]));
    transport.close();
  } finally {
    await server.close({ graceMs: 100 });
    await resources.close();
  }
}

/** Every service of the generated component and service files. */
async function generatedServices(): Promise<DescService[]> {
  const found: DescService[] = [];
  for (const kind of ["component", "service"]) {
    for await (const folder of Deno.readDir(new URL(`${kind}/`, GENERATED))) {
      const version = new URL(`${kind}/${folder.name}/v1/`, GENERATED);
      for await (const file of Deno.readDir(version)) {
        const module: Record<string, unknown> = await import(new URL(file.name, version).href);
        found.push(...Object.values(module).filter(isService));
      }
    }
  }
  return found.filter(({ typeName }) => typeName !== NO_API);
}

function isService(value: unknown): value is DescService {
  return (value as { kind?: string } | undefined)?.kind === "service";
}

/** How a call with nothing but the resource's name ends: `ok`, or the code of its error. */
async function answerOf(
  transport: Transport,
  service: DescService,
  method: DescMethod,
  mayBeQuiet: boolean,
): Promise<string> {
  const client = createClient(service, transport) as unknown as Record<
    string,
    (request: unknown, options: { signal: AbortSignal }) => unknown
  >;
  const addressee = addresseeOf(method.input);
  assert.ok(addressee, `${method.input.typeName} names no resource`);
  const named = addressee.put(create(method.input), "it");
  const isStream = method.methodKind.startsWith("client") || method.methodKind.startsWith("bidi");
  const end = new AbortController();
  const limitMs = method.methodKind === "unary" || !mayBeQuiet ? 90_000 : QUIET_MS;
  const timer = setTimeout(() => end.abort(), limitMs);
  try {
    const answer = client[method.localName]!(isStream ? once(named) : named, end);
    if (method.methodKind === "unary" || method.methodKind === "client_streaming") await answer;
    else await (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
    return "ok";
  } catch (error) {
    return Code[ConnectError.from(error).code];
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}

Deno.test("servedApis has every service of proto/, each under a name of its own", async () => {
  const services = (await generatedServices()).map(({ typeName }) => typeName).sort();
  assert.ok(services.length >= 31, `${services.length} services were found`);
  assert.deepEqual(servedApis.map(({ service }) => service.typeName).sort(), services);
  assert.equal(new Set(servedApis.map(({ api }) => api)).size, servedApis.length);
  for (const { api, service } of servedApis) {
    const [, kind, subtype] = api.split(":");
    const path = `viam.${kind}.${subtype!.replaceAll("_", "")}.v1.`;
    assert.ok(service.typeName.startsWith(path), `${api} is carried by ${service.typeName}`);
  }
});

Deno.test("servedApis has the API of every model that is built in", () => {
  const served = new Set(servedApis.map(({ api }) => api));
  const models = builtinModels(testEnvironment()).list();
  const unserved = models.filter(({ api }) => !served.has(api)).map(({ api }) => api);
  // The public API has no calls for it: it takes none.
  assert.deepEqual(unserved, ["rdk:service:base_remote_control"]);
  assert.ok(models.length > 25, `${models.length} models`);
});

Deno.test("every method of every API reaches a fake, or says that there is no resource", async () => {
  await withServer(async (transport, apis) => {
    const surprises: string[] = [];
    const calls = servedApis.flatMap(({ api, service }) =>
      service.methods.map(async (method) => {
        const answer = await answerOf(transport, service, method, apis.has(api));
        const allowed = !apis.has(api)
          ? ["NotFound"]
          : MISSING.has(`${api} ${method.name}`)
          ? ["Unimplemented"]
          : ANSWERS;
        if (!allowed.includes(answer)) surprises.push(`${api} ${method.name}: ${answer}`);
      })
    );
    await Promise.all(calls);
    assert.deepEqual(surprises.sort(), []);
    assert.ok(calls.length > 200, `${calls.length} methods were called`);
  });
});

Deno.test("the sensors service reads all kinds of sensors with one call", async () => {
  await withServer(async (transport) => {
    const sensors = createClient(SensorsService, transport);
    const { sensorNames } = await sensors.getSensors({ name: "it" });
    const { readings } = await sensors.getReadings({ name: "it", sensorNames });
    const found = readings.map((
      { name, readings },
    ) => [name?.subtype, Object.keys(readings).sort()]);
    assert.deepEqual(Object.fromEntries(found), {
      sensor: ["a", "b", "c"],
      power_sensor: ["current", "is_ac", "power", "voltage"],
      movement_sensor: [
        ...["altitude", "angular_velocity", "compass", "linear_acceleration", "linear_velocity"],
        ...["orientation", "position"],
      ],
    });
  });
});
