import { create } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { ShellService } from "../gen/viam/service/shell/v1/shell_pb.ts";
import { createGrpcTransport } from "./client/grpc_transport.ts";
import { peerKey } from "./server/peer.ts";
import { RpcRouter } from "./server/router.ts";
import { RpcServer, type RpcServerOptions } from "./server/server.ts";

export const text = (value: string): Value =>
  create(ValueSchema, { kind: { case: "stringValue", value } });

/** A sensor that answers by the name in the request, and a shell that echoes. */
export function testRouter(seen: { aborted?: Promise<void> } = {}): RpcRouter {
  return new RpcRouter()
    .service(SensorService, {
      getReadings(request, context) {
        switch (request.name) {
          case "peer":
            return { readings: { peer: text(JSON.stringify(context.values.get(peerKey))) } };
          case "missing":
            throw new ConnectError("no node found", Code.NotFound);
          case "broken":
            throw new TypeError("secret detail of the code");
          case "slow":
            return new Promise((_, reject) => {
              seen.aborted = new Promise((resolve) => {
                context.signal.addEventListener("abort", () => {
                  resolve();
                  reject(context.signal.reason);
                });
              });
            });
          case "headers":
            context.responseHeader.set("viam-smrn", "rdk:component:sensor/s");
            context.responseTrailer.set("x-end", context.requestHeader.get("x-ask") ?? "");
            return { readings: {} };
          default:
            return { readings: { name: text(request.name) } };
        }
      },
    })
    .service(ShellService, {
      async *shell(requests) {
        for await (const request of requests) {
          if (request.dataIn === "fail") throw new ConnectError("told to", Code.Aborted);
          yield { dataOut: request.dataIn };
        }
      },
    });
}

export async function withServer(
  options: Partial<RpcServerOptions>,
  run: (url: string, server: RpcServer) => Promise<void>,
): Promise<void> {
  const server = await RpcServer.start({
    router: testRouter(),
    listen: { hostname: "127.0.0.1", port: 0 },
    ...options,
  });
  try {
    await run(`http://127.0.0.1:${server.address.port}`, server);
  } finally {
    await server.close({ graceMs: 100 });
  }
}

export async function withGrpc(
  options: Partial<RpcServerOptions>,
  run: (transport: ReturnType<typeof createGrpcTransport>, url: string) => Promise<void>,
): Promise<void> {
  await withServer(options, async (url) => {
    const transport = createGrpcTransport({ baseUrl: url });
    try {
      await run(transport, url);
    } finally {
      transport.close();
    }
  });
}

export async function rejection(promise: Promise<unknown>): Promise<ConnectError> {
  try {
    await promise;
  } catch (error) {
    return ConnectError.from(error);
  }
  assert.fail("the call succeeded");
}

export function post(url: string, method: string, body: string, headers: HeadersInit = {}) {
  return fetch(`${url}/${method}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
}

export const GET_READINGS = "viam.component.sensor.v1.SensorService/GetReadings";
