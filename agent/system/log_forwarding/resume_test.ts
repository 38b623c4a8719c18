import assert from "node:assert/strict";
import { isSameLine, parseCursor, resumeAfter } from "./resume.ts";

const LAST = "s=9317;i=73;b=aaaa;m=64;t=3e8;x=492f"; // 100 µs after its start, at 1000 µs.

Deno.test("a line that the journal still has is gone on after, whatever the clock says", () => {
  const { args, isKnown } = resumeAfter(LAST, true, "bbbb");
  assert.deepEqual(args, [`--after-cursor=${LAST}`]);
  assert.equal(isKnown({ boot: "aaaa", monotonicUs: 1, realtimeUs: 1 }), false);
});

const GONE: readonly [
  string,
  { boot: string; monotonicUs: number; realtimeUs: number },
  boolean,
][] = [
  ["the same line", { boot: "aaaa", monotonicUs: 100, realtimeUs: 1000 }, true],
  ["an earlier one of that start", { boot: "aaaa", monotonicUs: 99, realtimeUs: 9999 }, true],
  ["a later one, clock set back", { boot: "aaaa", monotonicUs: 101, realtimeUs: 5 }, false],
  ["this start, clock a year back", { boot: "bbbb", monotonicUs: 1, realtimeUs: 5 }, false],
  ["another start before", { boot: "cccc", monotonicUs: 900, realtimeUs: 999 }, true],
  ["another start after", { boot: "cccc", monotonicUs: 1, realtimeUs: 1001 }, false],
];

for (const [name, line, expected] of GONE) {
  Deno.test(`with a journal that lost the line: ${name} is ${expected ? "known" : "new"}`, () => {
    const { args, isKnown } = resumeAfter(LAST, false, "bbbb");
    assert.deepEqual(args, []);
    assert.equal(isKnown(line), expected);
  });
}

Deno.test("parseCursor() takes cursors only", () => {
  assert.deepEqual(parseCursor(LAST), { boot: "aaaa", monotonicUs: 100, realtimeUs: 1000 });
  for (const text of ["", "nonsense", "b=a;m=;t=1"]) assert.equal(parseCursor(text), undefined);
  assert.ok(isSameLine(parseCursor(LAST), parseCursor(LAST.replace("s=9317", "s=1"))));
  assert.ok(!isSameLine(parseCursor(LAST), parseCursor(LAST.replace("m=64", "m=65"))));
  assert.ok(!isSameLine(undefined, undefined));
});
