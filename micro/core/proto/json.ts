import type { Json, JsonObject } from "../../../shared/gen/micro/messages.ts";
import { base64, fromBase64 } from "../bytes/bytes.ts";
import type { Fields } from "./codec.ts";
import { emptyValue, enumNames, type Field, fieldsOf } from "./fields.ts";
import { WireError } from "./wire.ts";

/** The message in protobuf's JSON form, fields with zero values left out. */
export function toJson(name: string, message: Fields): JsonObject {
  const json: JsonObject = {};
  for (const field of fieldsOf(name)) {
    const value = message[field.name];
    if (value === undefined) continue;
    if (field.label === "list") {
      const list = value as readonly unknown[];
      if (list.length > 0) json[field.name] = list.map((one) => valueToJson(field, one));
    } else if (field.label === "map") {
      const entries = Object.entries(value as Record<string, unknown>);
      if (entries.length === 0) continue;
      json[field.name] = Object.fromEntries(
        entries.map(([k, one]) => [k, valueToJson(field, one)]),
      );
    } else if (field.label === "optional" || !isEmpty(value)) {
      json[field.name] = valueToJson(field, value);
    }
  }
  return json;
}

function isEmpty(value: unknown): boolean {
  return !value || value instanceof Uint8Array && value.length === 0;
}

function valueToJson({ kind, of }: Field, value: unknown): Json {
  switch (kind) {
    case "m":
      return toJson(of, value as Record<string, unknown>);
    case "y":
      return base64(value as Uint8Array);
    case "e":
      return enumNames(of)[value as number] || value as number;
    case "l":
    case "U":
      return String(value);
    case "T":
      return new Date(value as number).toISOString();
    case "D":
      return `${value as number / 1000}s`;
    case "d":
    case "f":
      return Number.isFinite(value) ? value as number : String(value);
    default:
      return value as Json;
  }
}

/**
 * The message of protobuf's JSON form; names as in JSON or as in the `.proto` file, unknown ones
 * are skipped.
 *
 * @throws WireError that names the field
 */
export function fromJson(name: string, json: Json, path = name): Record<string, unknown> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new WireError(`${path} must be an object`);
  }
  const message: Record<string, unknown> = {};
  for (const field of fieldsOf(name)) {
    const given = json[field.name] ?? json[snakeCase(field.name)];
    const at = `${path}.${field.name}`;
    if (given === undefined || given === null && field.kind !== "V") {
      const empty = emptyValue(field);
      if (empty !== undefined) message[field.name] = empty;
    } else if (field.label === "list") {
      if (!Array.isArray(given)) throw new WireError(`${at} must be a list`);
      message[field.name] = given.map((one) => valueFromJson(field, one, at));
    } else if (field.label === "map") {
      if (typeof given !== "object" || Array.isArray(given)) {
        throw new WireError(`${at} must be an object`);
      }
      message[field.name] = Object.fromEntries(
        Object.entries(given ?? {}).map(([key, one]) => [key, valueFromJson(field, one, at)]),
      );
    } else message[field.name] = valueFromJson(field, given, at);
  }
  return message;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function valueFromJson({ kind, of }: Field, json: Json, at: string): unknown {
  const wrong = (what: string) => new WireError(`${at} must be ${what}`);
  switch (kind) {
    case "m":
      return fromJson(of, json, at);
    case "s":
      if (typeof json !== "string") throw wrong("a text");
      return json;
    case "b":
      if (typeof json !== "boolean") throw wrong("true or false");
      return json;
    case "y": {
      const bytes = typeof json === "string" ? fromBase64(json) : undefined;
      if (!bytes) throw wrong("base64");
      return bytes;
    }
    case "e": {
      const number = typeof json === "string" ? enumNames(of).indexOf(json) : json;
      if (typeof number !== "number" || number < 0) {
        throw wrong(`one of ${enumNames(of).join(", ")}`);
      }
      return number;
    }
    case "S":
      if (typeof json !== "object" || json === null || Array.isArray(json)) {
        throw wrong("an object");
      }
      return json;
    case "V":
      return json;
    case "T": {
      const ms = typeof json === "string" ? Date.parse(json) : NaN;
      if (Number.isNaN(ms)) throw wrong('a time, "2026-01-31T12:00:00Z"');
      return ms;
    }
    case "D": {
      const match = typeof json === "string" ? /^(-?\d+(?:\.\d+)?)s$/.exec(json) : null;
      if (!match) throw wrong('a duration, "1.5s"');
      return Number(match[1]) * 1000;
    }
    default: {
      const number = typeof json === "string" && json !== "" ? Number(json) : json;
      const whole = kind !== "d" && kind !== "f";
      const special = json === "NaN" && !whole;
      if (typeof number !== "number" || Number.isNaN(number) && !special) throw wrong("a number");
      if (whole && !Number.isInteger(number)) throw wrong("a whole number");
      if ((kind === "u" || kind === "U") && number < 0) {
        throw wrong("a number that is not negative");
      }
      return number;
    }
  }
}
