import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { StreamService } from "../../../shared/gen/proto/stream/v1/stream_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { createStreamService } from "./stream_service.ts";

Deno.test("StreamService lists cameras, and says where their pictures are", async () => {
  const resource = {};
  const service = createStreamService({
    *ready() {
      yield { api: "rdk:component:camera", name: "front", resource };
      yield { api: "rdk:component:sensor", name: "host", resource };
      yield { api: "rdk:component:camera", name: "back", resource };
    },
  });
  const router = new RpcRouter().service(StreamService, service);
  const streams = createClient(StreamService, createInProcessTransport(router));
  assert.deepEqual((await streams.listStreams({})).names, ["back", "front"]);
  await assert.rejects(
    () => streams.addStream({ name: "front" }),
    (error: ConnectError) =>
      error.code === Code.Unimplemented && /"front".*GetImages/.test(error.rawMessage),
  );
  await assert.rejects(
    () => streams.addStream({ name: "host" }),
    (error: ConnectError) =>
      error.code === Code.NotFound && /"host".*back, front/.test(error.rawMessage),
  );
  await streams.removeStream({ name: "front" });
});
