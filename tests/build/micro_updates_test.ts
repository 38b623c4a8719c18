import assert from "node:assert/strict";
import { isSettled } from "./micro_updates.ts";

const RUNS_NEW = ["info machine: machine-micro-server 1.1.0"];
const ON_TRIAL = "info ota: 1.1.0 is on trial until it reaches the cloud";
const APPLIED = "info config: applied revision 2-c6f320dc";
const OLD = ["info machine: machine-micro-server 1.0.0", APPLIED];

Deno.test("isSettled: an update is kept, rolled back, or not decided yet", () => {
  const rows: readonly (readonly [readonly string[], boolean])[] = [
    [[], false],
    [OLD, false],
    [[...OLD, "info ota: downloads 1.1.0"], false],
    [[...OLD, "error ota: 1.1.0 was tried and rolled back; it is not tried again"], true],
    [[...RUNS_NEW], false],
    [[...RUNS_NEW, APPLIED], true],
    [[...RUNS_NEW, ON_TRIAL, APPLIED], false],
    [[...OLD, ...RUNS_NEW], false],
    [[...RUNS_NEW, ON_TRIAL, APPLIED, "info ota: 1.1.0 is confirmed"], true],
  ];
  for (const [lines, expected] of rows) assert.equal(isSettled(lines, "1.1.0"), expected);
});
