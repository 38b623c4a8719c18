import assert from "node:assert/strict";
import { join } from "node:path";
import { runFaultChild } from "../../shared/base/faults/fault_child_testing.ts";
import { filesIn } from "./testing.ts";
import { readTrail } from "./run_testing.ts";

const folder = import.meta.dirname ?? ".";
const SOURCE = `
  import { runOnce } from "./run_testing.ts";
  await runOnce(Deno.args[0]);
  Deno.exit(0);`;

const POINTS = [
  "data.capture.written",
  "data.capture.written#2",
  "data.capture.written#7",
  "data.capture.before-rename",
  "data.capture.after-rename",
  "data.capture.after-rename#2",
  "data.sync.before-upload",
  "data.sync.uploaded",
  "data.sync.uploaded#2",
  "data.sync.recorded",
  "data.sync.removed",
];
for (const faultPoint of POINTS) {
  Deno.test(`DataManager loses one reading at most and stores none twice when killed at ${faultPoint}`, async () => {
    const home = await Deno.makeTempDir({ prefix: "data-faults-" });
    try {
      const args = [home];
      const killed = await runFaultChild(SOURCE, { folder, args, faultPoint });
      assert.equal(killed.signal, "SIGKILL", killed.stderr);
      const before = await readTrail(home);
      const next = await runFaultChild(SOURCE, { folder, args });
      assert.equal(next.code, 0, next.stderr);
      const { given, stored } = await readTrail(home);
      assert.deepEqual(
        stored.toSorted((a, b) => a - b),
        [...new Set(stored)].sort((a, b) => a - b),
      );
      const lost = before.given.filter((n) => !stored.includes(n));
      assert.ok(lost.length <= 1, `lost ${lost.join()} of ${before.given.join()}`);
      assert.ok(lost.every((n) => n === before.given.at(-1)));
      // The second run ended in order: a tick at its end may have been under way.
      assert.ok(given.length - stored.length <= 2);
      assert.deepEqual(await filesIn(join(home, "capture")), []);
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  });
}
