import assert from "node:assert/strict";
import { requirementLines } from "./remote_run.ts";

Deno.test("requirementLines() gives one requirement a line, with its hashes", () => {
  const text =
    "# by pip-compile\na==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n\nb==2 # why\n";
  assert.deepEqual(requirementLines(text), ["a==1 --hash=sha256:00 --hash=sha256:01", "b==2"]);
});
