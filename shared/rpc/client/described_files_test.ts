import assert from "node:assert/strict";
import type { DescFile } from "@bufbuild/protobuf";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { file_viam_component_arm_v1_arm } from "../../gen/viam/component/arm/v1/arm_pb.ts";
import { registryOf } from "./described_files.ts";

function withImports(file: DescFile): Map<string, FileDescriptorProto> {
  const all = new Map<string, FileDescriptorProto>();
  const add = ({ proto, dependencies }: DescFile) => {
    all.set(proto.name, proto);
    dependencies.forEach(add);
  };
  add(file);
  return all;
}

Deno.test("registryOf() links a file whose imports import one another", () => {
  const files = withImports(file_viam_component_arm_v1_arm);
  const { name } = file_viam_component_arm_v1_arm.proto;
  const service = registryOf(name, files).getService("viam.component.arm.v1.ArmService");
  assert.ok(service?.methods.some((method) => method.name === "MoveToPosition"));
});

Deno.test("registryOf() says what is missing", () => {
  const files = withImports(file_viam_component_arm_v1_arm);
  files.delete("viam/common/v1/common.proto");
  const { name } = file_viam_component_arm_v1_arm.proto;
  assert.throws(() => registryOf(name, files), /viam\/common\/v1\/common\.proto.*not described/);
});
