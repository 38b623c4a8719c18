import { base64Encode } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { create, type DescFile, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import {
  ResourceNameSchema,
  safety_heartbeat_monitored,
} from "../../gen/viam/common/v1/common_pb.ts";
import { ServoService } from "../../gen/viam/component/servo/v1/servo_pb.ts";
import { GripperService } from "../../gen/viam/component/gripper/v1/gripper_pb.ts";
import { enumDesc, extDesc, fileDesc, messageDesc, serviceDesc } from "./descriptors.ts";

Deno.test("a service is decoded when something but its name is looked at", () => {
  assert.equal(ServoService.typeName, "viam.component.servo.v1.ServoService");
  assert.equal(ServoService.kind, "service");
  assert.ok(!Object.hasOwn(ServoService, "methods"));
  assert.ok(ServoService.methods.some(({ name }) => name === "Move"));
  assert.equal(ServoService.method.move.name, "Move");
  assert.ok(Object.hasOwn(ServoService, "methods"));
});

Deno.test("descriptors have all that those of the library have", () => {
  const { file } = GripperService;
  const common = safety_heartbeat_monitored.file;
  const again = (file: DescFile) =>
    fileDesc(base64Encode(toBinary(FileDescriptorProtoSchema, file.proto)), file.dependencies);
  const pairs: [decoded: object, fresh: () => object][] = [
    [file, () => again(file)],
    [file.services[0]!, () => serviceDesc(again(file), 0, GripperService.typeName)],
    [file.messages[0]!, () => messageDesc(again(file), 0)],
    [common.enums[0]!, () => enumDesc(again(common), 0)],
    [common.extensions[0]!, () => extDesc(again(common), 0)],
  ];
  for (const [decoded, fresh] of pairs) {
    for (const [key, value] of Object.entries(decoded)) {
      // A look at this one only.
      const found: unknown = Reflect.get(fresh(), key);
      assert.equal(typeof found, typeof value, `${(decoded as { kind: string }).kind}.${key}`);
      if (typeof value !== "object") assert.equal(String(found), String(value));
    }
    assert.equal(String(fresh()), String(decoded));
  }
});

Deno.test("messages are made and read by such descriptors", () => {
  const name = create(ResourceNameSchema, { name: "left", subtype: "gripper" });
  assert.equal(name.namespace, "");
  assert.deepEqual(fromJson(ResourceNameSchema, toJson(ResourceNameSchema, name)), name);
});
