/** Forms of methods, made from their descriptors. */
import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";

/** One argument of a method. */
export type ArgumentField =
  & {
    /** As in the JSON form of the request. */
    readonly key: string;
    /** As in the API's text. */
    readonly label: string;
  }
  & (
    | { readonly kind: "boolean" | "text" | "number" | "bytes" }
    | { readonly kind: "choice"; readonly choices: readonly string[] }
    /** Typed as JSON; `example` shows its form. */
    | { readonly kind: "json"; readonly example: string }
  );

/** What was typed, by key; an empty text leaves the argument out. */
export type Typed = Readonly<Record<string, string>>;

/** Something typed cannot be sent. */
export class ArgumentError extends Error {
  /** @param kind of what cannot be read; `whole`: each field can, and together they are no request */
  constructor(
    readonly kind: "number" | "json" | "whole",
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

const INTEGERS: ReadonlySet<ScalarType> = new Set([
  ...[ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32],
  ...[ScalarType.FIXED32, ScalarType.SFIXED32],
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64],
  ...[ScalarType.FIXED64, ScalarType.SFIXED64],
]);

/** Which field of a request names the resource. */
function nameField(input: DescMessage): DescField | undefined {
  const names = ["name", "board_name", "controller"];
  return names.map((name) => input.fields.find((each) => each.name === name)).find(Boolean);
}

/** The arguments of a method but the resource's name. */
export function argumentsOf(input: DescMessage): ArgumentField[] {
  const name = nameField(input);
  return input.fields.filter((field) => field !== name).map(argumentOf);
}

function argumentOf(field: DescField): ArgumentField {
  const named = { key: field.jsonName, label: field.name };
  switch (field.fieldKind) {
    case "scalar":
      if (field.scalar === ScalarType.BOOL) return { ...named, kind: "boolean" };
      if (field.scalar === ScalarType.STRING) return { ...named, kind: "text" };
      if (field.scalar === ScalarType.BYTES) return { ...named, kind: "bytes" };
      return { ...named, kind: "number" };
    case "enum":
      return { ...named, kind: "choice", choices: field.enum.values.map(({ name }) => name) };
    default:
      return { ...named, kind: "json", example: JSON.stringify(exampleOf(field), null, 1) };
  }
}

/** How deep examples go: messages may hold themselves. */
const MOST_DEPTH = 3;

function exampleOf(field: DescField, depth = 0): JsonValue {
  switch (field.fieldKind) {
    case "map":
      return {};
    case "list":
      if (field.listKind === "message") return [messageExample(field.message, depth)];
      if (field.listKind === "enum") return [field.enum.values[0]?.name ?? ""];
      return [scalarExample(field.scalar)];
    case "message":
      return messageExample(field.message, depth);
    case "enum":
      return field.enum.values[0]?.name ?? "";
    case "scalar":
      return scalarExample(field.scalar);
  }
}

const WELL_KNOWN: Readonly<Record<string, JsonValue>> = {
  "google.protobuf.Struct": {},
  "google.protobuf.Value": null,
  "google.protobuf.Timestamp": "2026-01-01T00:00:00Z",
  "google.protobuf.Duration": "1s",
};

function messageExample(message: DescMessage, depth: number): JsonValue {
  const known = WELL_KNOWN[message.typeName];
  if (known !== undefined) return known;
  const example: JsonObject = {};
  if (depth >= MOST_DEPTH) return example;
  for (const member of message.members) {
    // Of several that exclude one another only the first.
    const field = member.kind === "oneof" ? member.fields[0] : member;
    if (field) example[field.jsonName] = exampleOf(field, depth + 1);
  }
  return example;
}

function scalarExample(type: ScalarType): JsonValue {
  if (type === ScalarType.BOOL) return false;
  if (type === ScalarType.STRING || type === ScalarType.BYTES) return "";
  return 0;
}

/**
 * The request of what was typed.
 *
 * @throws {ArgumentError} for what cannot be read, with its field.
 */
export function requestOf<I extends DescMessage>(
  input: I,
  name: string,
  typed: Typed,
): MessageShape<I> {
  const json: JsonObject = {};
  const named = nameField(input);
  if (named) json[named.jsonName] = name;
  for (const argument of argumentsOf(input)) {
    const text = (typed[argument.key] ?? "").trim();
    if (text === "") continue;
    json[argument.key] = valueOf(argument, text, input);
  }
  try {
    return fromJson(input, json);
  } catch (error) {
    throw new ArgumentError("whole", "", error instanceof Error ? error.message : String(error));
  }
}

function valueOf(argument: ArgumentField, text: string, input: DescMessage): JsonValue {
  switch (argument.kind) {
    case "boolean":
      return text === "true";
    case "number": {
      const field = input.fields.find(({ jsonName }) => jsonName === argument.key);
      const isInteger = field?.fieldKind === "scalar" && INTEGERS.has(field.scalar);
      if (!Number.isFinite(Number(text)) || (isInteger && !/^-?\d+$/.test(text))) {
        throw new ArgumentError("number", argument.label, text);
      }
      // Long integers keep all digits as text.
      return isInteger ? text : Number(text);
    }
    case "json":
      try {
        return JSON.parse(text);
      } catch (error) {
        throw new ArgumentError(
          "json",
          argument.label,
          error instanceof Error ? error.message : "",
        );
      }
    default:
      return text;
  }
}
