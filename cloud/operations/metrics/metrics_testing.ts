import { createClient } from "@connectrpc/connect";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { Metrics } from "./metrics.ts";

/** Metrics of a cloud that does not run, and calls that are counted. For tests. */
export function metricsRig() {
  const metrics = new Metrics({
    connectedMachines: () => 3,
    queueLengths: () => Promise.resolve({ deliveries: 2 }),
    finishedDeliveries: () => Promise.resolve({ delivered: 5, failed: 1 }),
    databaseBytes: () => Promise.resolve({ "cloud.db": 4096 }),
    certificateEnd: () => new Date(1_800_000_000_000),
    version: "1.2.3",
    now: () => new Date(0),
  });
  const router = new RpcRouter().service(SensorService, {
    getReadings({ name }) {
      if (name === "bad") throw new Error("no");
      return {};
    },
  });
  const client = createClient(
    SensorService,
    createInProcessTransport(router, { interceptors: [metrics.interceptor] }),
  );
  return { metrics, client };
}
