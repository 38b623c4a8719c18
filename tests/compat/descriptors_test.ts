import assert from "node:assert/strict";
import { type DescFile, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { collectFacts, compareFacts } from "./descriptor_facts.ts";
import { pythonSdk, runPython } from "../e2e/python_sdk.ts";

const GENERATED = new URL("../../shared/gen/", import.meta.url);

Deno.test("our descriptors equal the published Python SDK's wherever both have the type", async () => {
  const ours = collectFacts(await ownFiles());
  const theirs = collectFacts(await publishedFiles());
  const { differences, missing, compared } = compareFacts(ours, theirs);

  print(`${compared} facts compared with viam-sdk ${pythonSdk.version}.`);
  print("Not here, apart from google.*, which the protobuf library brings:");
  for (const key of missing.filter((key) => !key.includes(" google."))) print(`  ${key}`);
  print(`Differences (${differences.length}):`);
  for (const line of differences) print(`  ${line}`);

  assert.deepEqual(differences, []);
  assert.ok(compared > 4000, `only ${compared} facts compared: were all files read?`);
});

Deno.test("compareFacts() reports a field when its number was changed", async () => {
  const theirs = collectFacts(await ownFiles());
  const changed = collectFacts(
    await ownFiles((file) => {
      const field = file.messageType.find((message) => message.name === "ResourceName")?.field[3];
      if (file.package === "viam.common.v1" && field !== undefined) field.number = 5;
    }),
  );
  assert.deepEqual(compareFacts(changed, theirs).differences, [
    'field viam.common.v1.ResourceName.name: ours is "= 5 string", theirs is "= 4 string"',
  ]);
});

Deno.test("compareFacts() reports label, presence, oneof, enum value and streaming when changed", async () => {
  const theirs = collectFacts(await ownFiles());
  const changed = collectFacts(
    await ownFiles((file) => {
      if (file.package === "viam.app.v1") {
        const service = file.service.find((service) => service.name === "AppService");
        const tail = service?.method.find((method) => method.name === "TailRobotPartLogs");
        if (tail !== undefined) tail.serverStreaming = false;
      }
      if (file.package !== "viam.common.v1") return;
      for (const message of file.messageType) {
        for (const field of message.field) {
          if (message.name === "Mesh") field.proto3Optional = false;
          if (message.name === "GeometriesInFrame") field.label = 1;
          if (message.name === "Geometry" && field.name === "box") message.oneofDecl[0]!.name = "g";
        }
      }
      for (const value of file.enumType[0]?.value ?? []) value.number += 1;
    }),
  );
  const differences = compareFacts(changed, theirs).differences.join("\n");
  for (
    const part of [
      "method viam.app.v1.AppService.TailRobotPartLogs",
      "field viam.common.v1.Mesh.original_file_source_path_diagnostic",
      "field viam.common.v1.GeometriesInFrame.geometries",
      "field viam.common.v1.Geometry.box",
      "value viam.common.v1.KinematicsFileFormat.KINEMATICS_FILE_FORMAT_SVA",
    ]
  ) assert.ok(differences.includes(part), `${part} is not among:\n${differences}`);
});

Deno.test("compareFacts() reports a member that is missing, and lists a missing type apart", async () => {
  const theirs = collectFacts(await ownFiles());
  const fewer = new Map(theirs);
  fewer.delete("field viam.common.v1.Pose.theta");
  for (const key of theirs.keys()) {
    if (key.includes("viam.common.v1.GeoPoint")) fewer.delete(key);
  }
  const { differences, missing } = compareFacts(fewer, theirs);
  assert.deepEqual(differences, [
    'field viam.common.v1.Pose.theta: not here, theirs is "= 7 double"',
  ]);
  assert.deepEqual(missing, ["message viam.common.v1.GeoPoint"]);
});

/** Our file descriptors, each a copy that `change` may alter. */
async function ownFiles(
  change: (file: FileDescriptorProto) => void = () => {},
): Promise<FileDescriptorProto[]> {
  const files: FileDescriptorProto[] = [];
  for (const url of await generatedModules(GENERATED)) {
    const module: Record<string, unknown> = await import(url.href);
    const file = Object.values(module).find(isDescFile);
    assert.ok(file, `${url.pathname} exports no file descriptor`);
    const copy = fromBinary(
      FileDescriptorProtoSchema,
      toBinary(FileDescriptorProtoSchema, file.proto),
    );
    change(copy);
    files.push(copy);
  }
  return files;
}

async function generatedModules(folder: URL): Promise<URL[]> {
  const found: URL[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) found.push(...await generatedModules(new URL(`${entry.name}/`, folder)));
    else if (entry.name.endsWith("_pb.ts")) found.push(new URL(entry.name, folder));
  }
  return found;
}

function isDescFile(value: unknown): value is DescFile {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "file";
}

async function publishedFiles(): Promise<FileDescriptorProto[]> {
  const output = await runPython(new URL("dump_descriptors.py", import.meta.url), []);
  return fromBinary(FileDescriptorSetSchema, output.stdout).file;
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
