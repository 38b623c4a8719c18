import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { LogLine } from "../../../shared/log/line.ts";
import { toLogEntry } from "../../../shared/log/log_entry.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { writeModuleLog } from "./module_log.ts";

const clock = new FakeClock("2026-01-02T03:04:05.000Z");

function lineOf(entry: MessageInitShape<typeof LogEntrySchema>, moduleName = "cam"): LogLine {
  const lines: LogLine[] = [];
  writeModuleLog([create(LogEntrySchema, entry)], moduleName, {
    root: "rdk.modmanager",
    write: (line) => lines.push(line),
    clock,
  });
  return lines[0]!;
}

Deno.test("writeModuleLog() puts the entry's logger below the module's", () => {
  const names = [
    ["", "rdk.modmanager.cam"],
    ["cam", "rdk.modmanager.cam"],
    ["cam.lens", "rdk.modmanager.cam.lens"],
    ["camera", "rdk.modmanager.cam.camera"],
    ["rdk:component:camera/c", "rdk.modmanager.cam.rdk:component:camera/c"],
    ["rdk.modmanager.cam.lens", "rdk.modmanager.cam.lens"],
    ["rdk.modmanager.other", "rdk.modmanager.cam.rdk.modmanager.other"],
  ];
  for (const [own, expected] of names) {
    assert.equal(lineOf({ loggerName: own! }).logger, expected);
  }
  assert.equal(lineOf({ loggerName: "x" }, "").logger, "rdk.modmanager.x");
});

Deno.test("writeModuleLog() reads the levels of all SDKs", () => {
  const levels = ["debug", "INFO", "WARNING", "Error", "CRITICAL", "dpanic", "what"];
  assert.deepEqual(levels.map((level) => lineOf({ level }).level), [
    ...["debug", "info", "warn", "error", "error", "error", "info"],
  ]);
});

Deno.test("writeModuleLog() says when a late line was written", () => {
  const at = (ms: number) => timestampFromDate(new Date(clock.now().getTime() - ms));
  assert.deepEqual(lineOf({ time: at(1_000) }).fields, {});
  assert.deepEqual(lineOf({ time: at(1_001) }).fields, { log_ts: "2026-01-02T03:04:03.999Z" });
  assert.deepEqual(lineOf({}).time, clock.now());
});

Deno.test("writeModuleLog() gives back the fields and the caller of our own log lines", () => {
  const fields = { n: 3, x: 0.5, yes: true, no: false, text: "t", empty: "", deep: { a: [1] } };
  const caller = { file: "src/lens.ts", line: 7, functionName: "focus" };
  const { time, level, message } = { time: clock.now(), level: "info", message: "m" } as const;
  const sent = toLogEntry({ time, level, logger: "cam", message, fields, caller }, "host");
  const line = lineOf(sent);
  assert.deepEqual(line.fields, fields);
  assert.deepEqual(line.caller, caller);
});

Deno.test("writeModuleLog() bears fields without sense, and cuts long texts", () => {
  const strange: JsonObject[] = [{}, { Key: 5 }, { Key: "a", Type: 99 }, { Key: "b", Type: 9 }];
  const line = lineOf({ fields: strange, message: "x".repeat(70_000), caller: { File: 3 } });
  assert.deepEqual(Object.keys(line.fields), ["a", "b"]);
  assert(line.message.length < 66_000);
  assert.equal(line.caller, undefined);
});

Deno.test("writeModuleLog() leaves out the stack that the Python SDK sends when there is none", () => {
  const none = "exc_info: None, exc_text: None, stack_info: None";
  assert.deepEqual(lineOf({ stack: none }).fields, {});
  assert.deepEqual(lineOf({ stack: "at x" }).fields, { stack: "at x" });
});
