/** JSON values in the form the wire uses. On the path of every reading: plain objects, no reflection. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type ListValue, NullValue, type Struct, type Value } from "@bufbuild/protobuf/wkt";

const NULL: Value = valueOf({ case: "nullValue", value: NullValue.NULL_VALUE });
const TRUE: Value = valueOf({ case: "boolValue", value: true });
const FALSE: Value = valueOf({ case: "boolValue", value: false });

/** One JSON value as `google.protobuf.Value`. */
function toValue(value: JsonValue): Value {
  switch (typeof value) {
    case "number":
      return valueOf({ case: "numberValue", value });
    case "string":
      return valueOf({ case: "stringValue", value });
    case "boolean":
      return value ? TRUE : FALSE;
    case "object":
      if (value === null) return NULL;
      return Array.isArray(value)
        ? valueOf({ case: "listValue", value: toListValue(value) })
        : valueOf({ case: "structValue", value: toStruct(value) });
    default:
      // Drivers are typed, but a value that JSON leaves out must not end the call.
      return NULL;
  }
}

/** The values of a JSON object, as maps of messages carry them. */
export function toValueMap(values: JsonObject): { [key: string]: Value } {
  const map: { [key: string]: Value } = {};
  for (const key in values) map[key] = toValue(values[key]!);
  return map;
}

/** A copy without numbers that JSON does not know; those become null. */
export function toPlainJson(values: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(values));
}

function toStruct(value: JsonObject): Struct {
  return { $typeName: "google.protobuf.Struct", fields: toValueMap(value) };
}

function toListValue(values: readonly JsonValue[]): ListValue {
  return { $typeName: "google.protobuf.ListValue", values: values.map(toValue) };
}

function valueOf(kind: Value["kind"]): Value {
  return { $typeName: "google.protobuf.Value", kind };
}
