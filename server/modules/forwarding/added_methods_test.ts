/** Methods of a module that this server's text of the API lacks. */
import type { DescService } from "@bufbuild/protobuf";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { InputControllerService } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { openForwardChannel } from "../../../shared/rpc/client/forward.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { MOST_VALUES } from "../../../shared/rpc/message_values.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { createWebTransport } from "../../../shared/rpc/client/fallback/web_transport.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { servedApi } from "../../serving/apis/served_api.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import type { Construction } from "../../resources/graph/resource.ts";
import { forwardedResource } from "./forwarded_resource.ts";
import { LearnedApis } from "../../serving/apis/learned_apis.ts";

const API = "rdk:component:input_controller";

/** The same service as an older release of its API has it. */
function olderText(service: DescService, without: readonly string[]): DescService {
  const methods = service.methods.filter(({ name }) => !without.includes(name));
  return { ...service, methods };
}

function moduleRouter(): RpcRouter {
  return new RpcRouter().service(InputControllerService, {
    getControls: ({ controller }) => ({ controls: [controller] }),
    doCommand: ({ name, command }) =>
      command?.["many"]
        ? { result: { many: new Array(MOST_VALUES).fill(0) } }
        : { result: { name, got: command ?? null } },
    async *streamEvents({ controller }) {
      yield { event: { event: controller } };
      yield { event: { event: "second" } };
    },
  });
}

Deno.test("a module's methods that this server has no text of are served, on every transport", async () => {
  const folder = await Deno.makeTempDir();
  const socket = join(folder, "m.sock");
  const module = await RpcServer.start({ router: moduleRouter(), listen: { path: socket } });
  const channel = openForwardChannel({ address: `unix:${socket}` });
  const older = olderText(InputControllerService, ["DoCommand", "StreamEvents"]);
  const construct = ({ name }: Construction<unknown>) =>
    forwardedResource({ channel, service: older, name, remove: () => Promise.resolve() });
  const registry = new ModelRegistry()
    .register({ api: API, model: "t:t:far", attributes: anyAttributes, construct })
    .register({
      api: API,
      model: "t:t:near",
      attributes: anyAttributes,
      construct: () => ({}),
    });
  const resources = new ResourceManager({ registry, clock: systemClock, log: memoryLogger() });
  await resources.apply([
    { name: "far", api: API, model: "t:t:far", attributes: {}, dependsOn: [] },
    { name: "near", api: API, model: "t:t:near", attributes: {}, dependsOn: [] },
  ], "r1");
  const apis = new LearnedApis([servedApi(API, older)], resources.index);
  const router = new RpcRouter();
  apis.mount(router);
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  const baseUrl = `http://127.0.0.1:${server.address.port}`;
  const native = createGrpcTransport({ baseUrl });
  const transports: Record<string, Transport> = {
    native,
    web: createWebTransport({ baseUrl }),
    "in process": createInProcessTransport(router),
  };
  const ask = (transport: Transport, name: string) =>
    createClient(InputControllerService, transport).doCommand({ name, command: { a: 1 } });
  try {
    for (const [what, transport] of Object.entries(transports)) {
      await assert.rejects(ask(transport, "far"), { code: Code.Unimplemented }, what);
    }
    assert.equal(apis.add(InputControllerService, API), false);
    const late = new RpcRouter();
    apis.mount(late);
    transports["a later router"] = createInProcessTransport(late);
    for (const [what, transport] of Object.entries(transports)) {
      const client = createClient(InputControllerService, transport);
      assert.deepEqual((await ask(transport, "far")).result, { name: "far", got: { a: 1 } }, what);
      const events = await Array.fromAsync(client.streamEvents({ controller: "far" }));
      assert.deepEqual(events.map(({ event }) => event?.event), ["far", "second"], what);
      const { controls } = await client.getControls({ controller: "far" });
      assert.deepEqual(controls, ["far"], `${what}: what was known goes on`);
      await assert.rejects(ask(transport, "near"), { code: Code.Unimplemented }, what);
      await assert.rejects(ask(transport, "nowhere"), what);
    }
    // Where answers are decoded here; over native gRPC they are passed on as bytes.
    for (const what of ["web", "in process"]) {
      const client = createClient(InputControllerService, transports[what]!);
      const many = client.doCommand({ name: "far", command: { many: true } });
      await assert.rejects(many, { code: Code.ResourceExhausted }, what);
    }
  } finally {
    native.close();
    await server.close({ graceMs: 100 });
    await resources.close();
    channel.close();
    await module.close({ graceMs: 100 });
    await Deno.remove(folder, { recursive: true });
  }
});
