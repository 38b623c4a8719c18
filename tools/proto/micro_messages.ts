import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  getOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { safety_heartbeat_monitored } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { MICRO_METHODS, UNUSED_FIELDS } from "./micro_methods.ts";

/** Messages with a form of their own in TypeScript: letter in the table, and type. */
const OWN_FORMS: Readonly<Record<string, readonly [string, string]>> = {
  "google.protobuf.Struct": ["S", "JsonObject"],
  "google.protobuf.Value": ["V", "Json"],
  "google.protobuf.Timestamp": ["T", "number"],
  "google.protobuf.Duration": ["D", "number"],
};

const SCALARS: Partial<Record<ScalarType, readonly [string, string]>> = {
  [ScalarType.STRING]: ["s", "string"],
  [ScalarType.BOOL]: ["b", "boolean"],
  [ScalarType.BYTES]: ["y", "Uint8Array"],
  [ScalarType.DOUBLE]: ["d", "number"],
  [ScalarType.FLOAT]: ["f", "number"],
  [ScalarType.INT32]: ["i", "number"],
  [ScalarType.UINT32]: ["u", "number"],
  [ScalarType.INT64]: ["l", "number"],
  [ScalarType.UINT64]: ["U", "number"],
};

/**
 * The tables of machine-micro-server: what it needs of its messages, as text that its codec reads,
 * and their types.
 */
export function microMessages(registry: FileRegistry): string {
  const messages = new Map<string, DescMessage>();
  const enums = new Map<string, DescEnum>();
  const visit = (message: DescMessage): void => {
    if (messages.has(message.typeName) || OWN_FORMS[message.typeName]) return;
    messages.set(message.typeName, message);
    for (const field of usedFields(message)) {
      const { message: inner, enum: values } = parts(field);
      if (inner) visit(inner);
      if (values) enums.set(values.typeName, values);
    }
  };
  const methods = Object.entries(MICRO_METHODS).flatMap(([service, names]) =>
    methodsOf(registry, service, names)
  );
  for (const { input, output } of methods) [input, output].forEach(visit);
  const names = [...messages.keys()].sort();
  const sortedEnums = [...enums.values()].sort((a, b) => a.typeName < b.typeName ? -1 : 1);
  return `// Generated from proto/ by make proto: what machine-micro-server uses of it.
/* eslint-disable */

export type Json = string | number | boolean | null | undefined | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** Fields by message: number, name and type, as micro/core/proto/fields.ts reads them. */
export const MESSAGES = {
${names.map((name) => `  ${quote(name)}: ${quote(tableOf(get(messages, name)))},`).join("\n")}
} as const;

/** Names of values by enum, from 0. */
export const ENUMS = {
${sortedEnums.map((one) => `  ${quote(one.typeName)}: ${quote(enumTable(one))},`).join("\n")}
} as const;

/** Messages of methods: what they take and what they give; \`moves\`: the caller's session counts. */
export const METHODS = {
${methods.map((method) => `  ${quote(pathOf(method))}: ${quote(methodTable(method))},`).join("\n")}
} as const;

/** Messages by name. */
export interface Messages {
${names.map((name) => `  ${quote(name)}: ${typeOf(get(messages, name))};`).join("\n")}
}

/** Methods by path. */
export interface Methods {
${
    methods.map((method) =>
      `  ${quote(pathOf(method))}: { input: Messages[${quote(method.input.typeName)}]; output: ` +
      `Messages[${quote(method.output.typeName)}] };`
    ).join("\n")
  }
}
`;
}

function methodsOf(registry: FileRegistry, service: string, names: string): DescMethod[] {
  const found = registry.getService(service);
  if (!found) throw new Error(`proto/ has no service ${service}`);
  if (names === "*") return found.methods.filter(({ methodKind }) => methodKind === "unary");
  return names.split(" ").map((name) => {
    const method = found.methods.find((one) => one.name === name);
    if (!method) throw new Error(`${service} has no method ${name}`);
    return method;
  });
}

function usedFields(message: DescMessage): DescField[] {
  return message.fields.filter(({ name, proto }) =>
    !UNUSED_FIELDS.has(`${message.typeName}.${name}`) && !proto.options?.deprecated
  );
}

interface FieldParts {
  readonly label: string;
  readonly letter: string;
  readonly type: string;
  readonly message?: DescMessage | undefined;
  readonly enum?: DescEnum | undefined;
}

function parts(field: DescField): FieldParts {
  const single = field.fieldKind === "scalar" || field.fieldKind === "enum" ||
    field.fieldKind === "message";
  const label = field.fieldKind === "list" ? "*" : field.fieldKind === "map" ? "%" : "";
  const optional = single && (field.fieldKind === "message" || field.proto.proto3Optional ||
    field.oneof !== undefined);
  if (field.fieldKind === "map" && field.mapKey !== ScalarType.STRING) {
    throw new Error(`${field}: only maps by text are known to the codec`);
  }
  const at = label || (optional ? "?" : "");
  if (field.message) {
    const own = OWN_FORMS[field.message.typeName];
    if (own) return { label: at, letter: own[0], type: own[1] };
    const type = `Messages[${quote(field.message.typeName)}]`;
    return { label: at, letter: "m", type, message: field.message };
  }
  if (field.enum) return { label: at, letter: "e", type: "number", enum: field.enum };
  const scalar = field.scalar === undefined ? undefined : SCALARS[field.scalar];
  if (!scalar) throw new Error(`${field}: its type is not known to the codec`);
  return { label: at, letter: scalar[0], type: scalar[1] };
}

function tableOf(message: DescMessage): string {
  return usedFields(message).map((field) => {
    const { label, letter, message: inner, enum: values } = parts(field);
    const of = inner?.typeName ?? values?.typeName;
    return `${field.number} ${field.jsonName} ${label}${letter}${of ? ` ${of}` : ""}`;
  }).join(";");
}

function enumTable({ values, typeName }: DescEnum): string {
  const names: string[] = [];
  for (const { number, name } of values) {
    if (number < 0 || number > 200) throw new Error(`${typeName}: value ${number} is too large`);
    names[number] ??= name;
  }
  return Array.from(names, (name) => name ?? "").join(",");
}

function methodTable(method: DescMethod): string {
  const moves = getOption(method, safety_heartbeat_monitored) ? " moves" : "";
  return `${method.input.typeName} ${method.output.typeName}${moves}`;
}

function typeOf(message: DescMessage): string {
  const fields = usedFields(message).map((field) => {
    const { label, type } = parts(field);
    const whole = label === "*" ? `${type}[]` : label === "%" ? `{ [key: string]: ${type} }` : type;
    return `${quote(field.jsonName)}${label === "?" ? "?" : ""}: ${whole}${
      label === "?" ? " | undefined" : ""
    }`;
  });
  return `{ ${fields.join("; ")} }`;
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}

function get<T>(map: ReadonlyMap<string, T>, key: string): T {
  const value = map.get(key);
  if (value === undefined) throw new Error(`there is no ${key}`);
  return value;
}
