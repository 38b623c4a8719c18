/** The JSON form of the services as an OpenAPI 3.1 document. Pure. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from "@bufbuild/protobuf";

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
type Schema = { readonly [name: string]: Json };

export interface OpenApiOptions {
  readonly services: Iterable<{ readonly service: DescService }>;
  /** What it describes, and in a few sentences how it is used. */
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** Where it is reached. */
  readonly url: string;
  /** How callers sign in: schemes by name, of which any one is enough. Default: a bearer token. */
  readonly security?: Readonly<Record<string, Schema>>;
  /** The path of a method, and its parameters. Default: that of the Connect protocol. */
  readonly pathOf?: (method: DescMethod) => PathOf | undefined;
}

/** Where a method is reached; what a path has in braces is a parameter. */
export interface PathOf {
  readonly path: string;
  readonly parameters: readonly string[];
  /** Fields of the request that the path has, in JSON. */
  readonly leaveOut: readonly string[];
}

/** Services that a caller without a token may use. */
const OPEN_TO_ALL = /^(proto\.rpc\.v1\.(AuthService)|grpc\.health\.|grpc\.reflection\.)/;

/**
 * Every unary method of the services as a POST of the Connect protocol with JSON. Streaming methods
 * need frames around their messages, which OpenAPI cannot say: they are listed in the description
 * of their service.
 */
export function openApi(
  { services, title, description, version, url, security = BEARER, pathOf = connectPath }:
    OpenApiOptions,
): Schema {
  const schemas = new Map<string, Schema>([["connect.Error", ERROR]]);
  const paths: Record<string, Json> = {};
  const tags: Json[] = [];
  const sorted = [...services].map(({ service }) => service)
    .sort((a, b) => a.typeName < b.typeName ? -1 : 1);
  for (const service of sorted) {
    const streams = service.methods.filter(({ methodKind }) => methodKind !== "unary");
    tags.push({
      name: service.typeName,
      description: streams.length === 0
        ? "Unary methods only."
        : `Also, as streams of the Connect protocol or over gRPC: ${
          streams.map(({ name }) => name).join(", ")
        }.`,
    });
    for (const method of service.methods) {
      if (method.methodKind !== "unary") continue;
      const place = pathOf(method);
      if (place) paths[place.path] = { post: operation(method, place, schemas) };
    }
  }
  return {
    openapi: "3.1.0",
    info: { title, version, description },
    servers: [{ url }],
    tags,
    paths,
    components: {
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => a < b ? -1 : 1)),
      securitySchemes: security,
    },
    security: Object.keys(security).map((name) => ({ [name]: [] })),
  };
}

const BEARER = { token: { type: "http", scheme: "bearer", bearerFormat: "JWT" } };

function connectPath({ parent, name }: DescMethod): PathOf {
  return { path: `/${parent.typeName}/${name}`, parameters: [], leaveOut: [] };
}

const ERROR: Schema = {
  type: "object",
  properties: {
    code: { type: "string", description: "not_found, permission_denied, invalid_argument, …" },
    message: { type: "string" },
    details: { type: "array", items: { type: "object" } },
  },
  required: ["code"],
};

function operation(
  method: DescMethod,
  { parameters, leaveOut }: PathOf,
  schemas: Map<string, Schema>,
): Schema {
  const service = method.parent.typeName;
  const content = (message: DescMessage): Schema => ({
    "application/json": { schema: messageSchema(message, schemas) },
  });
  return {
    operationId: `${service}.${method.name}`,
    tags: [service],
    ...(OPEN_TO_ALL.test(service) ? { security: [] } : {}),
    ...(parameters.length > 0 && {
      parameters: parameters.map((name) => ({
        ...{ name, in: "path", required: true, schema: { type: "string" } },
      })),
    }),
    requestBody: leaveOut.length > 0
      ? {
        content: { "application/json": { schema: withoutFields(method.input, leaveOut, schemas) } },
      }
      : { required: true, content: content(method.input) },
    responses: {
      "200": { description: "The answer.", content: content(method.output) },
      "default": {
        description: "An error.",
        content: { "application/json": { schema: ref("connect.Error") } },
      },
    },
  };
}

function withoutFields(
  message: DescMessage,
  names: readonly string[],
  schemas: Map<string, Schema>,
): Schema {
  const fields = message.fields.filter(({ jsonName }) => !names.includes(jsonName))
    .map((field) => [field.jsonName, fieldSchema(field, schemas)]);
  return { type: "object", properties: Object.fromEntries(fields) };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Types with a JSON form of their own. */
const WELL_KNOWN: Readonly<Record<string, Schema>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", pattern: "^-?[0-9]+(\\.[0-9]+)?s$" },
  "google.protobuf.FieldMask": { type: "string" },
  "google.protobuf.Struct": { type: "object", additionalProperties: true },
  "google.protobuf.Value": {},
  "google.protobuf.ListValue": { type: "array", items: {} },
  "google.protobuf.Empty": { type: "object" },
  "google.protobuf.Any": {
    type: "object",
    properties: { "@type": { type: "string" } },
    additionalProperties: true,
  },
  "google.protobuf.DoubleValue": { type: ["number", "null"] },
  "google.protobuf.FloatValue": { type: ["number", "null"] },
  "google.protobuf.Int64Value": { type: ["string", "null"], format: "int64" },
  "google.protobuf.UInt64Value": { type: ["string", "null"], format: "uint64" },
  "google.protobuf.Int32Value": { type: ["integer", "null"] },
  "google.protobuf.UInt32Value": { type: ["integer", "null"] },
  "google.protobuf.BoolValue": { type: ["boolean", "null"] },
  "google.protobuf.StringValue": { type: ["string", "null"] },
  "google.protobuf.BytesValue": { type: ["string", "null"], contentEncoding: "base64" },
};

function messageSchema(message: DescMessage, schemas: Map<string, Schema>): Schema {
  const wellKnown = WELL_KNOWN[message.typeName];
  if (wellKnown) return wellKnown;
  if (!schemas.has(message.typeName)) {
    schemas.set(message.typeName, {}); // Messages may hold themselves.
    const fields = message.fields.map((field) => [field.jsonName, fieldSchema(field, schemas)]);
    schemas.set(message.typeName, { type: "object", properties: Object.fromEntries(fields) });
  }
  return ref(message.typeName);
}

function fieldSchema(field: DescField, schemas: Map<string, Schema>): Schema {
  switch (field.fieldKind) {
    case "scalar":
      return scalarSchema(field.scalar);
    case "enum":
      return enumSchema(field.enum, schemas);
    case "message":
      return messageSchema(field.message, schemas);
    case "list":
      return { type: "array", items: elementSchema(field, schemas) };
    case "map":
      return { type: "object", additionalProperties: elementSchema(field, schemas) };
  }
}

function elementSchema(
  field: Extract<DescField, { fieldKind: "list" | "map" }>,
  schemas: Map<string, Schema>,
): Schema {
  if (field.message) return messageSchema(field.message, schemas);
  if (field.enum) return enumSchema(field.enum, schemas);
  return scalarSchema(field.scalar ?? ScalarType.STRING);
}

function enumSchema(type: DescEnum, schemas: Map<string, Schema>): Schema {
  if (type.typeName === "google.protobuf.NullValue") return { type: "null" };
  if (!schemas.has(type.typeName)) {
    schemas.set(type.typeName, { type: "string", enum: type.values.map(({ name }) => name) });
  }
  return ref(type.typeName);
}

/** 64-bit numbers are strings in JSON, and bytes are base64. */
function scalarSchema(type: ScalarType): Schema {
  switch (type) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return {
        oneOf: [{ type: "number" }, { type: "string", enum: ["NaN", "Infinity", "-Infinity"] }],
      };
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: "string", format: "int64" };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "string", format: "uint64" };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", minimum: 0 };
    default:
      return { type: "integer", format: "int32" };
  }
}
