import {
  create,
  createRegistry,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import {
  type Any,
  anyPack,
  AnySchema,
  anyUnpack,
  BoolValueSchema,
  BytesValueSchema,
  DoubleValueSchema,
  FloatValueSchema,
  Int32ValueSchema,
  Int64ValueSchema,
  ListValueSchema,
  StringValueSchema,
  StructSchema,
  UInt32ValueSchema,
  UInt64ValueSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { fromJson } from "@bufbuild/protobuf";

const KNOWN = createRegistry(
  BoolValueSchema,
  BytesValueSchema,
  DoubleValueSchema,
  FloatValueSchema,
  Int32ValueSchema,
  Int64ValueSchema,
  ListValueSchema,
  StringValueSchema,
  StructSchema,
  UInt32ValueSchema,
  UInt64ValueSchema,
  ValueSchema,
);

/** Parameters of a method as plain values; of a type that nobody knows its name and bytes. */
export function parametersToJson(parameters: Readonly<Record<string, Any>>): JsonObject {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, any]) => [name, valueOf(any)]),
  );
}

export function parametersFromJson(parameters: JsonObject): Record<string, Any> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, anyOf(value)]),
  );
}

function valueOf(any: Any): JsonValue {
  const unknown = () => ({ type: any.typeUrl, value: any.value.toBase64() });
  try {
    const message = anyUnpack(any, KNOWN);
    const schema = message && KNOWN.getMessage(message.$typeName);
    return message && schema ? toJson(schema, message) : unknown();
  } catch {
    return unknown(); // Its bytes are not what its type says.
  }
}

function anyOf(value: JsonValue): Any {
  if (isUnknown(value)) {
    return create(AnySchema, { typeUrl: value.type, value: Uint8Array.fromBase64(value.value) });
  }
  return anyPack(ValueSchema, fromJson(ValueSchema, value));
}

function isUnknown(value: JsonValue): value is { type: string; value: string } {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.keys(value).length === 2 && typeof value["value"] === "string" &&
    typeof value["type"] === "string" && value["type"].startsWith("type.googleapis.com/");
}
