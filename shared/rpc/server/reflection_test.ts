import {
  create,
  createFileRegistry,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  DescriptorProtoSchema,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  MethodDescriptorProtoSchema,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { createInProcessTransport } from "./in_process.ts";
import { mountReflection } from "./reflection.ts";
import { RpcRouter } from "./router.ts";

const { MESSAGE, ENUM, STRING } = FieldDescriptorProto_Type;

const field = (name: string, number: number, typeName = "", type = MESSAGE) =>
  create(FieldDescriptorProtoSchema, {
    name,
    number,
    label: FieldDescriptorProto_Label.OPTIONAL,
    ...(typeName === "" ? { type: STRING } : { type, typeName }),
  });
const message = (name: string, ...fields: ReturnType<typeof field>[]) =>
  create(DescriptorProtoSchema, { name, field: fields });
const method = (name: string, inputType: string, outputType: string) =>
  create(MethodDescriptorProtoSchema, { name, inputType, outputType });

type FileParts = MessageInitShape<typeof FileDescriptorProtoSchema>;

/** The service of some files, the one with the service first. */
function serviceOf(...files: FileParts[]): DescService {
  const [root, ...others] = files.map((file) => create(FileDescriptorProtoSchema, file));
  assert.ok(root);
  const registry = createFileRegistry(root, (name) => others.find((file) => file.name === name));
  const service = registry.getService("acme.v1.Pad");
  assert.ok(service);
  return service;
}

const pad = (...methods: ReturnType<typeof method>[]) =>
  create(ServiceDescriptorProtoSchema, { name: "Pad", method: methods });

const PRESS = method("Press", ".acme.v1.Button", ".acme.v1.Button");

/** As the server knows it. */
const OURS = () =>
  serviceOf({
    name: "ours/acme/v1/pad.proto",
    package: "acme.v1",
    syntax: "proto3",
    service: [pad(PRESS)],
    messageType: [message("Button", field("name", 1))],
  });

/** As a module has it, in files of other names. */
const THEIRS = (...more: ReturnType<typeof method>[]) =>
  serviceOf({
    name: "acme/v1/pad.proto",
    package: "acme.v1",
    syntax: "proto3",
    dependency: ["acme/v1/haptics.proto"],
    service: [pad(method("Shake", ".acme.v1.ShakeRequest", ".acme.haptics.Report"), ...more)],
    messageType: [
      message("Button", field("name", 1), field("colour", 2)),
      create(DescriptorProtoSchema, {
        name: "ShakeRequest",
        field: [
          field("button", 1, ".acme.v1.Button"),
          field("style", 2, ".acme.v1.ShakeRequest.Style", ENUM),
          field("force", 3, ".acme.haptics.Force"),
        ],
        enumType: [{ name: "Style", value: [{ name: "STYLE_UNSPECIFIED", number: 0 }] }],
      }),
    ],
  }, {
    name: "acme/v1/haptics.proto",
    package: "acme.haptics",
    syntax: "proto3",
    messageType: [
      message("Force", field("unit", 1)),
      message("Report", field("force", 1, ".acme.haptics.Force")),
      message("Unused"),
    ],
  });

/** A router that serves our text of the service, and what another has next to it. */
function extended(other: DescService): RpcRouter {
  const router = new RpcRouter().service(OURS(), {});
  mountReflection(router);
  return router.extend(other, {});
}

type Question =
  | { case: "fileContainingSymbol"; value: string }
  | { case: "fileByFilename"; value: string };

async function filesOf(router: RpcRouter, messageRequest: Question) {
  const client = createClient(ServerReflection, createInProcessTransport(router));
  const questions = async function* () {
    yield await Promise.resolve({ messageRequest });
  };
  for await (const { messageResponse } of client.serverReflectionInfo(questions())) {
    assert.equal(messageResponse.case, "fileDescriptorResponse", JSON.stringify(messageResponse));
    return messageResponse.value.fileDescriptorProto.map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes)
    );
  }
  assert.fail("no answer");
}

/** What a client makes of an answer, which is to need no further question. */
function methodsIn(files: readonly FileDescriptorProto[]): readonly DescMethod[] {
  const [root] = files;
  assert.ok(root);
  const registry = createFileRegistry(root, (name) => files.find((file) => file.name === name));
  return registry.getService("acme.v1.Pad")?.methods ?? [];
}

Deno.test("reflection describes methods that were added from another text, with their types", async () => {
  const router = extended(THEIRS());
  const files = await filesOf(router, { case: "fileContainingSymbol", value: "acme.v1.Pad" });
  const methods = methodsIn(files);
  assert.deepEqual(methods.map(({ name }) => name), ["Press", "Shake"]);
  const [press, shake] = methods;
  assert.deepEqual(press?.input.fields.map(({ name }) => name), ["name"], "as ours has it");
  assert.deepEqual(
    shake?.input.fields.map(({ name, message, enum: values }) => [
      name,
      message?.typeName ?? values?.typeName,
    ]),
    [
      ["button", "acme.v1.Button"],
      ["style", "acme.v1.ShakeRequest.Style"],
      ["force", "acme.haptics.Force"],
    ],
  );
  assert.equal(shake?.output.typeName, "acme.haptics.Report");
  const names = files.flatMap((file) => file.messageType.map(({ name }) => name)).sort();
  assert.deepEqual(names, ["Button", "Force", "Report", "ShakeRequest"], "each type once");
});

Deno.test("reflection finds the symbols and files of added methods", async () => {
  const router = extended(THEIRS());
  for (const value of ["acme.v1.Pad.Shake", "acme.v1.ShakeRequest", "acme.v1.Button"]) {
    const files = await filesOf(router, { case: "fileContainingSymbol", value });
    assert.equal(methodsIn(files).length, 2, value);
  }
  const byName = { case: "fileByFilename", value: "ours/acme/v1/pad.proto" } as const;
  assert.equal(methodsIn(await filesOf(router, byName)).length, 2);
  const force = { case: "fileContainingSymbol", value: "acme.haptics.Force" } as const;
  assert.deepEqual((await filesOf(router, force)).map(({ name }) => name), [
    "acme/v1/haptics.proto",
  ]);
});

Deno.test("reflection gives the methods of two other texts, the first of each name", async () => {
  const router = extended(THEIRS());
  const twist = method("Twist", ".acme.haptics.Force", ".acme.v1.Button");
  router.extend(THEIRS(twist), {});
  const files = await filesOf(router, { case: "fileContainingSymbol", value: "acme.v1.Pad" });
  assert.deepEqual(methodsIn(files).map(({ name }) => name), ["Press", "Shake", "Twist"]);
  const names = files.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length, names.join());
});

Deno.test("reflection leaves out an added method that clashes with what is known", async () => {
  // Its message stands in another file and needs one of ours, which would import that file.
  const router = extended(serviceOf({
    name: "acme/v1/pad.proto",
    package: "acme.v1",
    syntax: "proto3",
    dependency: ["acme/v1/round.proto"],
    service: [pad(method("Round", ".acme.v1.Trip", ".acme.v1.Trip"))],
  }, {
    name: "acme/v1/round.proto",
    package: "acme.v1",
    syntax: "proto3",
    messageType: [message("Trip", field("button", 1, ".acme.v1.Button")), message("Button")],
  }));
  const files = await filesOf(router, { case: "fileContainingSymbol", value: "acme.v1.Pad" });
  assert.deepEqual(methodsIn(files).map(({ name }) => name), ["Press"]);
});
