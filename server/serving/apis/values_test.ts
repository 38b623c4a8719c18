import { create, fromBinary, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { GetReadingsResponseSchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { toPlainJson, toValueMap } from "./values.ts";

const sample: JsonObject = {
  number: 1.5,
  zero: 0,
  text: "é",
  empty: "",
  yes: true,
  no: false,
  nothing: null,
  list: [1, "a", null, [], {}],
  nested: { deeper: { x: -1 } },
};

Deno.test("toValueMap() gives back the same JSON when it has been on the wire", () => {
  const response = create(GetReadingsResponseSchema, { readings: toValueMap(sample) });
  const received = fromBinary(
    GetReadingsResponseSchema,
    toBinary(GetReadingsResponseSchema, response),
  );
  const struct = create(StructSchema, { fields: received.readings });
  assert.deepEqual(toJson(StructSchema, struct), sample);
});

Deno.test("toValueMap() sends not-a-number as it is when a driver reads one", () => {
  const bytes = toBinary(
    GetReadingsResponseSchema,
    create(GetReadingsResponseSchema, { readings: toValueMap({ x: NaN }) }),
  );
  const { kind } = fromBinary(GetReadingsResponseSchema, bytes).readings["x"]!;
  assert.ok(kind.case === "numberValue" && Number.isNaN(kind.value));
});

Deno.test("toValueMap() sends null when a driver leaves a value undefined", () => {
  const readings = { x: undefined } as unknown as JsonObject;
  assert.equal(toValueMap(readings)["x"]!.kind.case, "nullValue");
});

Deno.test("toPlainJson() writes null when a number is not finite", () => {
  assert.deepEqual(toPlainJson({ a: NaN, b: [Infinity, 1] }), { a: null, b: [null, 1] });
});
