/** Calls to a resource of a module: through a real port, through the module's port, and back. */
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { InputControllerService } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { ShellService } from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { openForwardChannel } from "../../../shared/rpc/client/forward.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { servedApi } from "../../serving/apis/served_api.ts";
import { toValueMap } from "../../serving/apis/values.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import type { Construction, Sensor } from "../../resources/graph/resource.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import { forwardedResource } from "./forwarded_resource.ts";
import { LearnedApis } from "../../serving/apis/learned_apis.ts";

const SENSOR = "rdk:component:sensor";
const SHELL = "rdk:service:shell";

/** What a module serves. */
function moduleRouter(): RpcRouter {
  return new RpcRouter()
    .service(SensorService, {
      getReadings({ name, extra }, context) {
        if (extra?.["fail"]) throw new ConnectError("the pin is loose", Code.DataLoss);
        const heard = ["opid", "authorization", "viam-metadata-a"]
          .map((key) => `${key}=${context.requestHeader.get(key) ?? ""}`);
        return { readings: toValueMap({ name, heard, hasLimit: Boolean(context.timeoutMs()) }) };
      },
      doCommand: ({ name, command }) => ({ result: { name, got: command ?? null } }),
    })
    .service(ShellService, {
      async *shell(requests) {
        for await (const { name, dataIn } of requests) yield { dataOut: `${name}:${dataIn}` };
      },
      async *copyFilesToMachine(requests) {
        for await (const { request } of requests) {
          if (request.case === "metadata" && request.value.name === "sh") yield {};
          else throw new ConnectError("no room", Code.ResourceExhausted);
        }
      },
    })
    .service(InputControllerService, {
      async *streamEvents({ controller }) {
        yield { event: { event: controller } };
        yield { event: { event: "second" } };
      },
    });
}

/** A server with a modular sensor `far` and shell, and a built-in sensor `near` that reads `far`. */
async function withMachine(
  run: (url: string, apis: LearnedApis, removed: string[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const socket = join(folder, "m.sock");
  const module = await RpcServer.start({ router: moduleRouter(), listen: { path: socket } });
  const channel = openForwardChannel({ address: `unix:${socket}` });
  const removed: string[] = [];
  const far = (service: typeof SensorService | typeof ShellService) => ({
    attributes: anyAttributes,
    construct: ({ name }: Construction<unknown>) =>
      forwardedResource({
        channel,
        service,
        name,
        remove: () => Promise.resolve(void removed.push(name)),
      }),
  });
  const registry = new ModelRegistry()
    .register({ api: SENSOR, model: "t:t:far", ...far(SensorService) })
    .register({ api: SHELL, model: "t:t:far", ...far(ShellService) })
    .register({
      api: SENSOR,
      model: "t:t:near",
      attributes: anyAttributes,
      construct({ dependencies }) {
        const other = dependencies.get(`${SENSOR}/far`) as Sensor;
        return {
          getReadings: (extra, call) => other.getReadings(extra, call),
          doCommand: (command, call) => other.doCommand!(command, call),
        } as Sensor;
      },
    });
  const resources = new ResourceManager({ registry, clock: systemClock, log: memoryLogger() });
  const specs: ResourceSpec[] = [
    { name: "far", api: SENSOR, model: "t:t:far", attributes: {}, dependsOn: [] },
    { name: "near", api: SENSOR, model: "t:t:near", attributes: {}, dependsOn: ["far"] },
    { name: "sh", api: SHELL, model: "t:t:far", attributes: {}, dependsOn: [] },
  ];
  await resources.apply(specs, "r1");
  const apis = new LearnedApis([
    servedApi(SENSOR, SensorService, (index, api) => ({
      async getReadings({ name, extra }, call) {
        const node = index.acquire(api, name);
        const readings = await (node.instance as Sensor).getReadings(extra, call);
        index.release(node);
        return { readings: toValueMap(readings) };
      },
    })),
    servedApi(SHELL, ShellService),
  ], resources.index);
  const router = new RpcRouter();
  apis.mount(router);
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  try {
    await run(`http://127.0.0.1:${server.address.port}`, apis, removed);
    await resources.close();
    assert.deepEqual(removed.sort(), ["far", "sh"]);
  } finally {
    await server.close({ graceMs: 100 });
    channel.close();
    await module.close({ graceMs: 100 });
    await Deno.remove(folder, { recursive: true });
  }
}

async function readings(url: string, name: string, extra = {}, headers = {}, timeoutMs = 90_000) {
  const transport = createGrpcTransport({ baseUrl: url });
  try {
    const answer = await createClient(SensorService, transport)
      .getReadings({ name, extra }, { headers, timeoutMs });
    return Object.fromEntries(
      Object.entries(answer.readings).map(([key, value]) => [key, toJson(ValueSchema, value)]),
    );
  } finally {
    transport.close();
  }
}

Deno.test("forwarding passes a call on with its metadata and limit, but without the sign-in", async () => {
  await withMachine(async (url) => {
    const headers = { opid: "op-1", authorization: "Bearer x", "viam-metadata-a": "b" };
    assert.deepEqual(await readings(url, "far", {}, headers), {
      name: "far",
      heard: ["opid=op-1", "authorization=", "viam-metadata-a=b"],
      hasLimit: true,
    });
  });
});

Deno.test("forwarding gives the module's error to the caller, with its code", async () => {
  await withMachine(async (url) => {
    for (const name of ["far", "near"]) {
      await assert.rejects(readings(url, name, { fail: true }), (error: ConnectError) => {
        assert.equal(error.code, Code.DataLoss);
        assert.equal(error.rawMessage, "the pin is loose");
        return true;
      });
    }
  });
});

Deno.test("forwarding reaches the same module from gRPC-web and Connect", async () => {
  await withMachine(async (url) => {
    const response = await fetch(`${url}/viam.component.sensor.v1.SensorService/DoCommand`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "far", command: { a: [1, null] } }),
    });
    assert.deepEqual(await response.json(), { result: { name: "far", got: { a: [1, null] } } });
  });
});

Deno.test("forwardedResource() works as a dependency of a built-in driver", async () => {
  await withMachine(async (url) => {
    assert.equal((await readings(url, "near"))["name"], "far");
    const response = await fetch(`${url}/viam.component.sensor.v1.SensorService/DoCommand`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "near", command: { b: 1 } }),
    });
    assert.deepEqual(await response.json(), { result: { name: "far", got: { b: 1 } } });
  });
});

Deno.test("forwarding carries streams both ways, and their errors", async () => {
  await withMachine(async (url) => {
    const transport = createGrpcTransport({ baseUrl: url });
    try {
      const shell = createClient(ShellService, transport);
      const said: string[] = [];
      const input = async function* () {
        yield { name: "sh", dataIn: "a" };
        while (said.length < 1) await systemClock.sleep(1);
        yield { name: "sh", dataIn: "b" };
      };
      for await (const { dataOut } of shell.shell(input())) said.push(dataOut);
      assert.deepEqual(said, ["sh:a", "sh:b"]);
      let acknowledged = 0;
      const copy = async () => {
        const files = async function* () {
          yield { request: { case: "metadata" as const, value: { name: "sh" } } };
          while (acknowledged < 1) await systemClock.sleep(1);
          yield { request: { case: "fileData" as const, value: { name: "f" } } };
        };
        for await (const _ of shell.copyFilesToMachine(files())) acknowledged++;
      };
      await assert.rejects(copy(), (error: ConnectError) => error.code === Code.ResourceExhausted);
      assert.equal(acknowledged, 1);
      const empty = async () => {
        for await (const _ of shell.shell((async function* () {})())) assert.fail("no answer");
      };
      await assert.rejects(empty(), /without a message that names a resource/);
    } finally {
      transport.close();
    }
  });
});

Deno.test("LearnedApis serves an API from the moment a module brings it", async () => {
  await withMachine(async (url, apis) => {
    const ask = async () => {
      const transport = createGrpcTransport({ baseUrl: url });
      try {
        const events = createClient(InputControllerService, transport)
          .streamEvents({ controller: "none" });
        for await (const _ of events) return;
      } finally {
        transport.close();
      }
    };
    await assert.rejects(ask(), (error: ConnectError) => error.code === Code.Unimplemented);
    assert.equal(apis.add(InputControllerService, "acme:component:pad"), true);
    assert.equal(apis.add(InputControllerService, "acme:component:pad"), false);
    assert.equal(apis.serviceOf("acme:component:pad"), InputControllerService);
    await assert.rejects(ask(), (error: ConnectError) => error.code !== Code.Unimplemented);
  });
});
