// Makes calls over one connection; then leaves, or stays idle until its standard input ends.
import { createClient } from "@connectrpc/connect";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { createGrpcTransport } from "../client/grpc_transport.ts";

const [port, calls, whenDone] = Deno.args as [string, string, "leave" | "stay"];
const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
const sensor = createClient(SensorService, transport);
let left = Number(calls);
await Promise.all(
  Array.from({ length: 32 }, async () => {
    while (left-- > 0) await sensor.getReadings({});
  }),
);
if (whenDone === "stay") await Array.fromAsync(Deno.stdin.readable);
transport.close();
