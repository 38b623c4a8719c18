import assert from "node:assert/strict";
import { LinePreparer } from "./prepare_line.ts";
Deno.test("LinePreparer hides secrets among arguments", () => {
  const { fields } = new LinePreparer().prepare({
    ...{ logger: "l", level: "info", message: "started" },
    fields: { args: ["-v", "--token", "abcdef", "--db-password=x"] },
  });
  assert.deepEqual(fields, { args: ["-v", "--token", "******", "--db-password=******"] });
});
