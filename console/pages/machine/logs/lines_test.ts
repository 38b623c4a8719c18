import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { LogEntrySchema } from "../../../../shared/gen/viam/common/v1/common_pb.ts";
import { toField } from "../../../../shared/log/log_entry.ts";
import { fits, levelsFrom, linesBefore, lineText, toLine, unread } from "./lines.ts";

const AT = "2026-01-02T03:04:05.678Z";
const AFTER = "2026-01-02T03:04:05.679Z";

const entry = create(LogEntrySchema, {
  ...{ level: "warn", loggerName: "rdk.resource.arm", message: "Cannot move" },
  time: timestampFromDate(new Date(AT)),
  fields: Object.entries({ joint: 3, hot: true, pose: { x: 1 }, part: "elbow", load: 0.5 })
    .map(toField),
});

Deno.test("toLine() reads an entry with its fields of all types", () => {
  const line = toLine(entry);
  assert.equal(line.fields, 'joint=3 hot=true pose={"x":1} part=elbow load=0.5');
  assert.equal(
    lineText(line),
    `2026-01-02T03:04:05.678Z\tWARN\trdk.resource.arm\tCannot move ${line.fields}`,
  );
});

Deno.test("unread() keeps what came after the cloud had answered", () => {
  const later = toLine({ ...entry, message: "Moves again" });
  assert.deepEqual(unread([toLine(entry), later], [toLine(entry)]), [later]);
});

Deno.test("linesBefore() keeps older lines where those that were read reach back to them", () => {
  const [a, b, c] = ["a", "b", "c"].map((message) => toLine({ ...entry, message }));
  const again = toLine({ ...entry, message: "b" });
  assert.deepEqual(linesBefore([a!, b!], [again, c!]), [a]);
  assert.deepEqual(linesBefore([a!], [again, c!]), []);
  assert.deepEqual(linesBefore([a!], []), []);
});

Deno.test("fits() picks by level, logger, text and time", () => {
  const line = toLine(entry);
  const all = { text: "", level: "", source: "", from: "", to: "" };
  for (
    const filter of [{}, { level: "warn" }, { text: "MOVE" }, { source: "rdk.resource" }, {
      from: AT,
      to: AFTER,
    }]
  ) {
    assert.equal(fits(line, { ...all, ...filter }), true, JSON.stringify(filter));
  }
  for (
    const filter of [{ level: "error" }, { text: "stop" }, { source: "rdk.res" }, { from: AFTER }, {
      to: AT,
    }]
  ) {
    assert.equal(fits(line, { ...all, ...filter }), false, JSON.stringify(filter));
  }
});

Deno.test("levelsFrom() gives a level and what is more urgent", () => {
  assert.deepEqual([levelsFrom(""), levelsFrom("warn")], [[], ["warn", "error"]]);
});
