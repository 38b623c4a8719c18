import assert from "node:assert/strict";
import { parseSkips, skipLines } from "./skips.ts";

Deno.test("skipLines() gives one line a reason with all files", () => {
  const skips = parseSkips(
    '{"reason":"no b","file":"z_test.ts"}\n{"reason":"no a","file":"y_test.ts"}\n' +
      '{"reason":"no b","file":"x_test.ts"}\n{"reason":"no b","file":"x_test.ts"}\n',
  );
  assert.deepEqual(skipLines(skips), [
    "skipped: no a: y_test.ts",
    "skipped: no b: x_test.ts, z_test.ts",
  ]);
  assert.deepEqual(skipLines(parseSkips("")), []);
});
