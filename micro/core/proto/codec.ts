import type { Json, JsonObject, Messages } from "../../../shared/gen/micro/messages.ts";
import { fromUtf8 } from "../bytes/utf8.ts";
import { emptyValue, type Field, fieldsOf, type Kind } from "./fields.ts";
import { Reader, WireError, Writer } from "./wire.ts";

/** A message as it is given to {@link encode}: every field may be left out. */
export type Input<T> = T extends Uint8Array ? T
  : JsonObject extends T ? T
  : T extends (infer E)[] ? readonly Input<E>[]
  : T extends object ? { readonly [K in keyof T]?: Input<T[K]> | undefined }
  : T;

/** A message by the names of its fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** How deep messages and values may be nested: what comes from outside must not end the stack. */
const MOST_NESTED = 24;

/** The message in protobuf's binary form. */
export function encode<N extends keyof Messages>(name: N, message: Input<Messages[N]>): Uint8Array {
  return encodeMessage(name, message as Fields);
}

/**
 * The message of protobuf's binary form; unknown fields are skipped, missing ones have the zero
 * value of their type. Integers beyond 2^53 lose their last digits.
 *
 * @throws WireError
 */
export function decode<N extends keyof Messages>(name: N, bytes: Uint8Array): Messages[N] {
  return decodeMessage(name, bytes) as Messages[N];
}

/** {@link encode} of a message whose name is known when the call comes. */
export function encodeMessage(name: string, message: Fields): Uint8Array {
  const writer = new Writer();
  for (const field of fieldsOf(name)) {
    const value = message[field.name];
    if (value === undefined) continue;
    if (field.label === "list") writeList(writer, field, value as readonly unknown[]);
    else if (field.label === "map") {
      for (const [key, one] of Object.entries(value as Fields)) {
        const entry = new Writer();
        entry.tag(1, 2);
        entry.text(key);
        writeField(entry, 2, field, one);
        writer.tag(field.number, 2);
        writer.raw(entry.finish());
      }
    } else if (field.label === "optional" || !isZero(value)) {
      writeField(writer, field.number, field, value);
    }
  }
  return writer.finish();
}

function isZero(value: unknown): boolean {
  return value === "" || value === false || Object.is(value, 0) ||
    value instanceof Uint8Array && value.length === 0;
}

function writeList(writer: Writer, field: Field, list: readonly unknown[]): void {
  if (list.length === 0) return;
  if (wireType(field.kind) === 2) {
    for (const one of list) writeField(writer, field.number, field, one);
    return;
  }
  const packed = new Writer();
  for (const one of list) writeValue(packed, field, one);
  writer.tag(field.number, 2);
  writer.raw(packed.finish());
}

function wireType(kind: Kind): number {
  return "iulUbe".includes(kind) ? 0 : kind === "d" ? 1 : kind === "f" ? 5 : 2;
}

function writeField(writer: Writer, number: number, field: Field, value: unknown): void {
  writer.tag(number, wireType(field.kind));
  writeValue(writer, field, value);
}

function writeValue(writer: Writer, { kind, of }: Field, value: unknown): void {
  switch (kind) {
    case "s":
      return writer.text(value as string);
    case "y":
      return writer.raw(value as Uint8Array);
    case "b":
      return writer.varint(value ? 1 : 0);
    case "d":
      return writer.double(value as number);
    case "f":
      return writer.float(value as number);
    case "m":
      return writer.raw(encodeMessage(of, value as Fields));
    case "S":
      return writer.raw(encodeStruct(value as JsonObject));
    case "V":
      return writer.raw(encodeJson(value as Json));
    case "T":
    case "D":
      return writer.raw(encodeTime(value as number, kind === "D"));
    default:
      return writer.varint(value as number);
  }
}

/** Milliseconds to seconds and nanoseconds; a duration's nanoseconds have its sign. */
function encodeTime(ms: number, signed: boolean): Uint8Array {
  const seconds = signed ? Math.trunc(ms / 1000) : Math.floor(ms / 1000);
  const nanos = Math.round((ms - seconds * 1000) * 1000) * 1000;
  const writer = new Writer();
  if (seconds !== 0) writer.tag(1, 0), writer.varint(seconds);
  if (nanos !== 0) writer.tag(2, 0), writer.varint(nanos);
  return writer.finish();
}

function encodeStruct(value: JsonObject): Uint8Array {
  const writer = new Writer();
  for (const [key, one] of Object.entries(value)) {
    if (one === undefined) continue;
    const entry = new Writer();
    entry.tag(1, 2);
    entry.text(key);
    entry.tag(2, 2);
    entry.raw(encodeJson(one));
    writer.tag(1, 2);
    writer.raw(entry.finish());
  }
  return writer.finish();
}

function encodeJson(value: Json): Uint8Array {
  const writer = new Writer();
  if (value === null || value === undefined) writer.tag(1, 0), writer.varint(0);
  else if (typeof value === "number") writer.tag(2, 1), writer.double(value);
  else if (typeof value === "string") writer.tag(3, 2), writer.text(value);
  else if (typeof value === "boolean") writer.tag(4, 0), writer.varint(value ? 1 : 0);
  else if (Array.isArray(value)) {
    const list = new Writer();
    for (const one of value) list.tag(1, 2), list.raw(encodeJson(one));
    writer.tag(6, 2);
    writer.raw(list.finish());
  } else {
    writer.tag(5, 2);
    writer.raw(encodeStruct(value as JsonObject));
  }
  return writer.finish();
}

/** {@link decode} of a message whose name is known when the call comes. @throws WireError */
export function decodeMessage(
  name: string,
  bytes: Uint8Array,
  depth = 0,
): Record<string, unknown> {
  if (depth > MOST_NESTED) throw new WireError(`more than ${MOST_NESTED} levels of messages`);
  const fields = fieldsOf(name);
  const message: Record<string, unknown> = {};
  for (const field of fields) {
    const value = emptyValue(field);
    if (value !== undefined) message[field.name] = value;
  }
  const reader = new Reader(bytes);
  while (!reader.done) {
    const tag = reader.uint32();
    const field = fields.find(({ number }) => number === tag >>> 3);
    const wire = tag & 7;
    const expected = field && wireType(field.kind);
    if (!field) reader.skip(wire);
    else if (field.label === "list") {
      const list = message[field.name] as unknown[];
      if (wire === expected) list.push(readValue(reader, field, depth));
      else if (wire === 2) {
        const packed = new Reader(reader.raw());
        while (!packed.done) list.push(readValue(packed, field, depth));
      } else reader.skip(wire);
    } else if (field.label === "map" && wire === 2) {
      const [key, value] = readEntry(reader.raw(), field, depth);
      define(message[field.name] as Record<string, unknown>, key, value);
    } else if (wire === expected) message[field.name] = readValue(reader, field, depth);
    else reader.skip(wire);
  }
  return message;
}

function readEntry(bytes: Uint8Array, field: Field, depth: number): [string, unknown] {
  const entry = new Reader(bytes);
  let key = "";
  let value = emptyValue({ ...field, label: "plain" });
  while (!entry.done) {
    const tag = entry.uint32();
    if (tag === 10) key = fromUtf8(entry.raw());
    else if (tag === (2 << 3 | wireType(field.kind))) value = readValue(entry, field, depth);
    else entry.skip(tag & 7);
  }
  return [key, value];
}

function readValue(reader: Reader, { kind, of }: Field, depth: number): unknown {
  switch (kind) {
    case "s":
      return fromUtf8(reader.raw());
    case "y":
      return reader.raw().slice();
    case "b":
      return reader.uint64() !== 0;
    case "d":
      return reader.double();
    case "f":
      return reader.float();
    case "m":
      return decodeMessage(of, reader.raw(), depth + 1);
    case "S":
      return decodeStruct(reader.raw(), depth + 1);
    case "V":
      return decodeJson(reader.raw(), depth + 1);
    case "T":
    case "D":
      return decodeTime(reader.raw());
    case "u":
      return reader.uint32();
    case "U":
      return reader.uint64();
    case "l":
      return reader.int64();
    default:
      return reader.uint32() | 0;
  }
}

function decodeTime(bytes: Uint8Array): number {
  const reader = new Reader(bytes);
  let ms = 0;
  while (!reader.done) {
    const tag = reader.uint32();
    if (tag === 8) ms += reader.int64() * 1000;
    else if (tag === 16) ms += (reader.uint32() | 0) / 1e6;
    else reader.skip(tag & 7);
  }
  return ms;
}

/** A key from outside must not be a setter of the object's prototype. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(object, key, { value, enumerable: true });
  else object[key] = value;
}

function decodeStruct(bytes: Uint8Array, depth: number): JsonObject {
  if (depth > MOST_NESTED) throw new WireError(`more than ${MOST_NESTED} levels of values`);
  const struct: JsonObject = {};
  const reader = new Reader(bytes);
  while (!reader.done) {
    const tag = reader.uint32();
    if (tag !== 10) {
      reader.skip(tag & 7);
      continue;
    }
    const entry = new Reader(reader.raw());
    let key = "";
    let value: Json = null;
    while (!entry.done) {
      const part = entry.uint32();
      if (part === 10) key = fromUtf8(entry.raw());
      else if (part === 18) value = decodeJson(entry.raw(), depth + 1);
      else entry.skip(part & 7);
    }
    define(struct, key, value);
  }
  return struct;
}

function decodeJson(bytes: Uint8Array, depth: number): Json {
  if (depth > MOST_NESTED) throw new WireError(`more than ${MOST_NESTED} levels of values`);
  const reader = new Reader(bytes);
  let value: Json = null;
  while (!reader.done) {
    const tag = reader.uint32();
    if (tag === 8) reader.uint64(), value = null;
    else if (tag === 17) value = reader.double();
    else if (tag === 26) value = fromUtf8(reader.raw());
    else if (tag === 32) value = reader.uint64() !== 0;
    else if (tag === 42) value = decodeStruct(reader.raw(), depth + 1);
    else if (tag === 50) {
      const list: Json[] = [];
      const items = new Reader(reader.raw());
      while (!items.done) {
        const part = items.uint32();
        if (part === 10) list.push(decodeJson(items.raw(), depth + 1));
        else items.skip(part & 7);
      }
      value = list;
    } else reader.skip(tag & 7);
  }
  return value;
}
