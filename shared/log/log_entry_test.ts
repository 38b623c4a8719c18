import { deepEqual, equal, ok } from "node:assert/strict";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import type { LogLine } from "./line.ts";
import { encodeLogEntry, toField, toLogEntry } from "./log_entry.ts";

const line: LogLine = {
  time: new Date("2026-01-02T03:04:05.006Z"),
  level: "warn",
  logger: "rdk.config",
  message: "odd",
  fields: { count: 3, gone: undefined },
  caller: { file: "config/reader.ts", line: 12, functionName: "read" },
};

Deno.test("toLogEntry() fills every field of the message", () => {
  const entry = toLogEntry(line, "box");
  const { host, level, loggerName, message, caller, fields, time } = entry;
  deepEqual({ host, level, loggerName, message }, {
    host: "box",
    level: "warn",
    loggerName: "rdk.config",
    message: "odd",
  });
  deepEqual(caller, { Defined: true, File: "config/reader.ts", Line: 12, Function: "read" });
  deepEqual(fields, [{ Key: "count", Type: 11, Integer: 3, String: "", Interface: null }]);
  equal(time && timestampDate(time).toISOString(), "2026-01-02T03:04:05.006Z");
});

Deno.test("toField() uses zap's types", () => {
  const table: [value: unknown, type: number, rest: Record<string, unknown>][] = [
    ["s", 15, { String: "s" }],
    [7, 11, { Integer: 7 }],
    [-7, 11, { Integer: -7 }],
    [1.5, 9, { String: "1.5" }],
    [2 ** 60, 9, { String: "1152921504606847000" }],
    [Infinity, 9, { String: "+Inf" }],
    [true, 4, { Integer: 1 }],
    [false, 4, { Integer: 0 }],
    [new Error("a", { cause: new Error("b") }), 15, { String: "a (cause: b)" }],
    [10n, 15, { String: "10" }],
    [{ a: [1] }, 23, { Interface: { a: [1] } }],
    [null, 23, { Interface: null }],
    [{ toJSON: () => "***" }, 15, { String: "***" }],
  ];
  for (const [value, type, rest] of table) {
    const expected = { Key: "k", Type: type, Integer: 0, String: "", Interface: null, ...rest };
    deepEqual(toField(["k", value]), expected);
  }
});

Deno.test("toLogEntry() can always be encoded, even with broken text", () => {
  const lone = "\ud83d lone";
  const entry = toLogEntry({
    ...line,
    logger: lone,
    message: lone,
    fields: { [lone]: lone, deep: { [lone]: [lone] } },
  }, lone);
  const back = fromBinary(LogEntrySchema, toBinary(LogEntrySchema, entry));
  equal(back.message, "\ufffd lone");
  deepEqual(back.fields[1]?.Interface, { "\ufffd lone": ["\ufffd lone"] });
});

Deno.test("toLogEntry() has the stack in its place, and not among the fields too", () => {
  const withStack = { ...line, stack: "Error: x\n    at y", fields: { stack: "same", id: 1 } };
  const entry = toLogEntry(withStack, "box");
  equal(entry.stack, "Error: x\n    at y");
  deepEqual(entry.fields.map(({ Key }) => Key), ["id"]);
});

Deno.test("encodeLogEntry() leaves fields away that are too large", () => {
  const fields = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`f${index}`, "x".repeat(16_000)]),
  );
  const bytes = encodeLogEntry({ ...line, fields }, "box");
  ok(bytes.byteLength < 1_000);
  const back = fromBinary(LogEntrySchema, bytes);
  deepEqual(back.fields.map(({ Key }) => Key), ["fields_left_out_bytes"]);
  equal(fromBinary(LogEntrySchema, encodeLogEntry(line, "box")).fields.length, 1);
});
