import assert from "node:assert/strict";
import { withModule } from "./demo_module.ts";

Deno.test("withModule() adds the module behind what is there, and only once", () => {
  const config = { components: [{ name: "greenhouse" }], other: 1 };
  const first = withModule(config, "/p/run.sh");
  assert.deepEqual(first["modules"], [
    { name: "garden", type: "local", executable_path: "/p/run.sh" },
  ]);
  assert.deepEqual(
    (first["components"] as { name: string }[]).map(({ name }) => name),
    ["greenhouse", "gardener"],
  );
  assert.equal(first["other"], 1);
  assert.equal(withModule(first, "/p/other.sh"), first);
});
