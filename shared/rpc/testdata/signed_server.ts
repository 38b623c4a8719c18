// Serves a sensor and a shell that nobody may call, prints the port, and ends with its input.
import { Code, ConnectError } from "@connectrpc/connect";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { ShellService } from "../../gen/viam/service/shell/v1/shell_pb.ts";
import type { Interceptor } from "../server/interceptor.ts";
import { OPEN_MESSAGE_BYTES } from "../client/limits.ts";
import { RpcRouter } from "../server/router.ts";
import { RpcServer } from "../server/server.ts";

const signIn: Interceptor = {
  before(call) {
    if (call.path.startsWith("/grpc.health.")) return call.limitMessages?.(OPEN_MESSAGE_BYTES);
    throw new ConnectError("who are you?", Code.Unauthenticated);
  },
};
const server = await RpcServer.start({
  router: new RpcRouter().service(SensorService, {}).service(ShellService, {}),
  listen: { hostname: "127.0.0.1", port: 0 },
  interceptors: [signIn],
});
await Deno.stdout.write(new TextEncoder().encode(`${server.address.port}\n`));
for await (const _ of Deno.stdin.readable);
await server.close({ graceMs: 100 });
