import assert from "node:assert/strict";
import { steadyText } from "./steady_text.ts";

Deno.test("steadyText() takes out the numbers that change, and only these", () => {
  const given = [
    "/dev/video0: 2nd attempt, silent since 9 s",
    "/dev/video0: 3rd attempt, silent since 14.5 s",
    "/dev/video0: 4th attempt, silent since 19 s",
    "/dev/video0: 4th attempt, silent since 19 s",
    "/dev/video0 is used by another program",
  ];
  const shown: string[] = [];
  for (const text of given) shown.push(steadyText(shown.at(-1), text));
  const steady = "/dev/video0: … attempt, silent since … s";
  assert.deepEqual(shown, [given[0], steady, steady, steady, given[4]]);
});

Deno.test("steadyText() keeps what is the same each time", () => {
  assert.equal(steadyText(undefined, "port 80"), "port 80");
  assert.equal(steadyText("port 80", "port 80"), "port 80");
  assert.equal(steadyText("", "port 80"), "port 80");
});
