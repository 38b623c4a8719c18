import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { DoCommandRequestSchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { PlayStreamRequestSchema } from "../../../shared/gen/viam/component/audioout/v1/audioout_pb.ts";
import { ReadAnalogReaderRequestSchema } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { TriggerEventRequestSchema } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import { CopyFilesToMachineRequestSchema } from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { GetMachineStatusRequestSchema } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { addresseeOf } from "./addressee.ts";

const cases = [
  { what: "name", schema: DoCommandRequestSchema, request: { name: "x" } },
  {
    what: "board_name",
    schema: ReadAnalogReaderRequestSchema,
    request: { boardName: "x", analogReaderName: "other" },
  },
  { what: "controller", schema: TriggerEventRequestSchema, request: { controller: "x" } },
  {
    what: "metadata of a stream",
    schema: CopyFilesToMachineRequestSchema,
    request: { request: { case: "metadata", value: { name: "x", destination: "d" } } },
  },
  {
    what: "init of a stream",
    schema: PlayStreamRequestSchema,
    request: { payload: { case: "init", value: { name: "x" } } },
  },
] as const;

for (const { what, schema, request } of cases) {
  Deno.test(`addresseeOf() finds and changes the name when it stands in ${what}`, () => {
    const addressee = addresseeOf(schema)!;
    const message = create(schema, request as never);
    assert.equal(addressee.of(message), "x");
    assert.equal(addressee.ofBytes(toBinary(schema, message)), "x");
    const renamed = create(schema, addressee.put(message, "other") as never);
    assert.equal(addressee.ofBytes(toBinary(schema, renamed)), "other");
    assert.equal(addressee.of(message), "x");
    const long = "n".repeat(300);
    const changed = addressee.putBytes(toBinary(schema, message), long);
    assert.deepEqual(
      fromBinary(schema, changed),
      create(schema, addressee.put(message, long) as never),
    );
  });
}

Deno.test("putBytes() puts one name in the place of all, and leaves the rest", () => {
  const addressee = addresseeOf(DoCommandRequestSchema)!;
  const rest = [0x1d, 1, 2, 3, 4];
  const bytes = new Uint8Array([0x0a, 1, 65, ...rest, 0x0a, 2, 66, 66, 0x10, 5]);
  const changed = addressee.putBytes(bytes, "C");
  assert.deepEqual([...changed], [0x0a, 1, 67, ...rest, 0x10, 5]);
});

Deno.test("addresseeOf() finds nothing when a request names no resource", () => {
  assert.equal(addresseeOf(GetMachineStatusRequestSchema), undefined);
});

Deno.test("ofBytes() gives nothing when the bytes are no message", () => {
  const addressee = addresseeOf(DoCommandRequestSchema)!;
  for (const bytes of [[0x0a, 5, 65], [0x0b], [0xff], [0x09, 1], [0x0a]]) {
    assert.equal(addressee.ofBytes(new Uint8Array(bytes)), undefined, String(bytes));
  }
});

Deno.test("ofBytes() takes the last name when there are two, and skips other kinds of fields", () => {
  const addressee = addresseeOf(DoCommandRequestSchema)!;
  const bytes = [0x0a, 1, 65, 0x10, 0x96, 0x01, 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
  assert.equal(addressee.ofBytes(new Uint8Array([...bytes, 0x0a, 1, 66])), "B");
});
