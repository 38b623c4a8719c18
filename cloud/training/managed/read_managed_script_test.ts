import assert from "node:assert/strict";
import { join } from "node:path";
import { managedScript } from "./read_managed_script.ts";

Deno.test("managedScript() is a source distribution with pinned requirements", async () => {
  const { key, files } = await managedScript();
  for (const path of ["pyproject.toml", "model/__init__.py", "model/training.py"]) {
    assert.ok(files[path], `${path} is missing`);
  }
  const text = (files["requirements.txt"] ?? "").replaceAll(/\\\n\s*/g, " ");
  const lines = text.split("\n").filter((line) => /^[^#]/.test(line));
  // pip installs what TensorFlow requires in Python 3.12 and newer only when it is here, too.
  for (const name of ["tensorflow-cpu", "setuptools"]) {
    assert.ok(lines.some((line) => line.startsWith(`${name}==`)), name);
  }
  for (const line of lines) {
    assert.match(line, /^[\w.-]+==[\w.]+(; [^\\]*?)?( +--hash=sha256:[0-9a-f]{64})+$/);
  }
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal((await managedScript()).key, key);
});

Deno.test("managedScript() gives the script the operator's weights by a path that holds anywhere", async () => {
  assert.deepEqual((await managedScript()).arguments, {});
  const script = await managedScript({ weights: "all.weights.h5" });
  assert.deepEqual(script.arguments, { weights: join(Deno.cwd(), "all.weights.h5") });
});
