import assert from "node:assert/strict";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { createInProcessTransport } from "../server/in_process.ts";
import { mountReflection } from "../server/reflection.ts";
import { RpcRouter } from "../server/router.ts";
import { learnService } from "./reflection_client.ts";

const options = { signal: new AbortController().signal };

/** A server that describes everything by these files; who asks a thousand times asks on for good. */
function describing(files: () => Uint8Array[]) {
  let asked = 0;
  return createInProcessTransport(
    new RpcRouter().service(ServerReflection, {
      async *serverReflectionInfo(questions) {
        for await (const _ of questions) {
          if (++asked > 1_000) throw new ConnectError("asked without end", Code.Aborted);
          const value = { fileDescriptorProto: files() };
          yield { messageResponse: { case: "fileDescriptorResponse" as const, value } };
        }
      },
    }),
  );
}

Deno.test("learnService() learns what a server describes", async () => {
  const router = new RpcRouter().service(SensorService, {});
  mountReflection(router);
  const { typeName } = SensorService;
  const service = await learnService(createInProcessTransport(router), typeName, options);
  assert.equal(service.typeName, typeName);
  assert.deepEqual(
    service.methods.map(({ name }) => name),
    SensorService.methods.map(({ name }) => name),
  );
});

Deno.test("learnService() decodes no description of a million values", async () => {
  // Empty messages: two bytes each, and hundreds once they are decoded.
  const bomb = new Uint8Array(1_800_000).map((_, at) => at % 2 === 0 ? 0x22 : 0);
  const transport = describing(() => [bomb]);
  await assert.rejects(learnService(transport, "a.v1.B", options), /more than 100000 values/);
});

Deno.test("learnService() takes 100,000 values at most, in however many files", async () => {
  let asked = 0;
  const transport = describing(() => {
    const file = create(FileDescriptorProtoSchema, {
      name: `${asked}.proto`,
      dependency: [`${++asked}.proto`],
      messageType: Array.from({ length: 10_000 }, () => ({})),
    });
    return [toBinary(FileDescriptorProtoSchema, file)];
  });
  await assert.rejects(learnService(transport, "a.v1.B", options), /more than 100000 values/);
  assert.ok(asked < 20, `${asked} files`);
});

Deno.test("learnService() takes 2 MiB at most, in however many files", async () => {
  let asked = 0;
  const transport = describing(() => {
    const name = `${asked++}.proto`;
    const dependency = [`${asked}.proto`, "x".repeat(100_000)];
    return [toBinary(
      FileDescriptorProtoSchema,
      create(FileDescriptorProtoSchema, { name, dependency }),
    )];
  });
  await assert.rejects(learnService(transport, "a.v1.B", options), /more than 2097152 bytes/);
  assert.ok(asked < 30, `asked ${asked} times`);
});

Deno.test("learnService() does not ask for 10,000 imports", async () => {
  let asked = 0;
  const dependency = Array.from({ length: 10_000 }, (_, at) => `${at}.proto`);
  const transport = describing(() => {
    const name = `f${asked++}.proto`;
    return [toBinary(
      FileDescriptorProtoSchema,
      create(FileDescriptorProtoSchema, { name, dependency }),
    )];
  });
  await assert.rejects(learnService(transport, "a.v1.B", options), /more than 500 files/);
  assert.equal(asked, 1);
});
