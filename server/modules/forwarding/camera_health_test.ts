/** A camera of a module whose device goes and comes back, called from outside and by drivers. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { openForwardChannel } from "../../../shared/rpc/client/forward.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { driverMethod } from "../../resources/graph/driver.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import type { Construction, Resource } from "../../resources/graph/resource.ts";
import { servedApi } from "../../serving/apis/served_api.ts";
import { cameraHealth } from "./camera_health.ts";
import { forwardedResource } from "./forwarded_resource.ts";

const CAMERA = "rdk:component:camera";

Deno.test("a camera of a module is unhealthy after three failures in a row, until it gives an image", async () => {
  let failure: ConnectError | undefined;
  const folder = await Deno.makeTempDir();
  const path = join(folder, "m.sock");
  const router = new RpcRouter().service(CameraService, {
    getImages() {
      if (failure) throw failure;
      return {};
    },
  });
  const module = await RpcServer.start({ router, listen: { path } });
  const channel = openForwardChannel({ address: `unix:${path}` });
  const registry = new ModelRegistry().register({
    api: CAMERA,
    model: "t:t:far",
    attributes: anyAttributes,
    construct({ name }: Construction<unknown>): Resource {
      const health = cameraHealth(channel);
      const there = { service: CameraService, name, remove: () => Promise.resolve() };
      return {
        ...forwardedResource({ ...there, channel: health.channel }),
        problem: health.problem,
      };
    },
  });
  const resources = new ResourceManager({ registry, clock: systemClock, log: memoryLogger() });
  const spec = { name: "cam", api: CAMERA, model: "t:t:far", attributes: {}, dependsOn: [] };
  await resources.apply([spec], "1");
  const outside = new RpcRouter();
  servedApi(CAMERA, CameraService).mount(outside, resources.index);
  const server = await RpcServer.start({
    router: outside,
    listen: { hostname: "127.0.0.1", port: 0 },
  });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const client = createClient(CameraService, transport);
  const program = async (filterSourceNames: string[] = []) => {
    await client.getImages({ name: "cam", filterSourceNames }).catch(() => undefined);
  };
  const driver = async (filterSourceNames: string[] = []) => {
    const [ready] = resources.ready();
    const request = { name: "", filterSourceNames };
    const { signal } = new AbortController();
    try {
      await driverMethod(ready!.resource, "getImages")!.call(ready!.resource, request, { signal });
    } catch (error) {
      assert.equal(ConnectError.from(error).code, failure?.code);
    }
  };
  const status = () => {
    const { state, error } = resources.snapshot()[0]!;
    return error ? `${state}: ${error}` : state;
  };
  const unhealthy = (reason: string) =>
    `unhealthy: GetImages fails each time: ${reason}. Look at the camera and at the log of its ` +
    "module; it is well with its next image";
  try {
    for (const call of [program, driver]) {
      for (const code of [Code.Internal, Code.Unavailable, Code.Unknown]) {
        failure = new ConnectError("/dev/video0 is gone since 1 s", code);
        await call();
        await call();
        assert.equal(status(), "ready", "one that hiccups is well");
        await call();
        assert.equal(status(), unhealthy("/dev/video0 is gone since 1 s"));
        for (const seconds of [2, 3]) {
          failure = new ConnectError(`/dev/video0 is gone since ${seconds} s`, code);
          await call();
          assert.equal(status(), unhealthy("/dev/video0 is gone since … s"));
        }
        failure = undefined;
        await call();
        assert.equal(status(), "ready");
      }
      for (const code of [Code.Unimplemented, Code.InvalidArgument, Code.Canceled]) {
        failure = new ConnectError("the caller's own", code);
        for (let time = 0; time < 4; time++) await call();
        assert.equal(status(), "ready");
      }
      failure = new ConnectError("there is no source of that name", Code.Unknown);
      for (let time = 0; time < 4; time++) await call(["left"]);
      assert.equal(status(), "ready");
    }
  } finally {
    transport.close();
    await resources.close();
    await server.close({ graceMs: 100 });
    channel.close();
    await module.close({ graceMs: 100 });
    await Deno.remove(folder, { recursive: true });
  }
});
