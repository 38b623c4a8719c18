import assert from "node:assert/strict";
import { join } from "node:path";
import { managedScript } from "./read_managed_script.ts";

Deno.test("managedScript() is a source distribution with pinned requirements", async () => {
  const { key, files, requirements } = await managedScript();
  for (const path of ["pyproject.toml", "model/__init__.py", "model/training.py"]) {
    assert.ok(files[path], `${path} is missing`);
  }
  assert.ok(requirements.some((line) => line.startsWith("tensorflow-cpu==")));
  for (const line of requirements) assert.match(line, /^[\w.-]+==[\w.]+(;|$)/);
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal((await managedScript()).key, key);
});

Deno.test("managedScript() gives the script the operator's weights by a path that holds anywhere", async () => {
  assert.deepEqual((await managedScript()).arguments, {});
  const script = await managedScript({ weights: "all.weights.h5" });
  assert.deepEqual(script.arguments, { weights: join(Deno.cwd(), "all.weights.h5") });
});
