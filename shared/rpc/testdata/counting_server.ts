// Serves a sensor on a free port, prints the port, and exits after a given number of calls.
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { RpcRouter } from "../server/router.ts";
import { RpcServer } from "../server/server.ts";

const endAfter = Number(Deno.args[0]);
const enough = Promise.withResolvers<void>();
let calls = 0;
const router = new RpcRouter().service(SensorService, {
  getReadings: () => {
    if (++calls === endAfter) enough.resolve();
    return { readings: {} };
  },
});
const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
await Deno.stdout.write(new TextEncoder().encode(`${server.address.port}\n`));
await enough.promise;
// The fault shows on a connection that is idle.
await new Promise((resolve) => setTimeout(resolve, 300));
await server.close({ graceMs: 1_000 });
