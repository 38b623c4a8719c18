import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type LogEntry, LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import { errorText, toPlain } from "./fields_json.ts";
import type { Caller, LogLine } from "./line.ts";

/** Numbers of zap's field types, which the clouds and servers of this protocol read. */
export const ZapType = { bool: 4, float64: 9, int64: 11, string: 15, reflect: 23 } as const;

// An entry must fit into a batch many times over; a larger one is an accident.
const MOST_BYTES = 192 * 1024;

/** A log line as it goes to the cloud; always valid UTF-8. */
export function toLogEntry(line: LogLine, host: string): LogEntry {
  const { stack = "", caller } = line;
  const fields = Object.entries(line.fields).filter(([key, value]) =>
    value !== undefined && !(key === "stack" && stack !== "")
  );
  return create(LogEntrySchema, {
    host: host.toWellFormed(),
    level: line.level,
    time: timestampFromDate(line.time),
    loggerName: line.logger.toWellFormed(),
    message: line.message.toWellFormed(),
    stack: stack.toWellFormed(),
    fields: fields.map(toField),
    ...(caller && { caller: toCallerStruct(caller) }),
  });
}

/** The entry's bytes; one that is too large comes without its fields. */
export function encodeLogEntry(line: LogLine, host: string): Uint8Array {
  const entry = toLogEntry(line, host);
  const bytes = toBinary(LogEntrySchema, entry);
  if (bytes.byteLength <= MOST_BYTES) return bytes;
  entry.fields = [toField(["fields_left_out_bytes", bytes.byteLength])];
  return toBinary(LogEntrySchema, entry);
}

/** One field in zap's form: Type says which of Integer, String and Interface holds the value. */
export function toField([key, value]: [string, unknown]): JsonObject {
  const field = { Key: key.toWellFormed(), Type: 0, Integer: 0, String: "", Interface: null };
  if (typeof value === "boolean") return { ...field, Type: ZapType.bool, Integer: Number(value) };
  if (typeof value === "number") {
    return Number.isSafeInteger(value)
      ? { ...field, Type: ZapType.int64, Integer: value }
      // As text: that is how this protocol avoids rounding.
      : { ...field, Type: ZapType.float64, String: floatText(value) };
  }
  if (value instanceof Error) {
    return { ...field, Type: ZapType.string, String: errorText(value).toWellFormed() };
  }
  const plain = toPlain(value);
  return typeof plain === "string"
    ? { ...field, Type: ZapType.string, String: plain }
    : { ...field, Type: ZapType.reflect, Interface: plain };
}

function toCallerStruct({ file, line, functionName }: Caller): JsonObject {
  return {
    Defined: true,
    File: file.toWellFormed(),
    Line: line,
    Function: functionName.toWellFormed(),
  };
}

// Go's ParseFloat, which reads it, knows these three words.
function floatText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}
