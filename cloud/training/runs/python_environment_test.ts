import assert from "node:assert/strict";
import { join } from "node:path";
import { installRequirements, type RunStep } from "./python_environment.ts";
import type { RunOutput } from "./run_output.ts";

Deno.test("installRequirements() lets pip install nothing without a hash", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-requirements-" });
  const text = "a==1 \\\n    --hash=sha256:00\nb.c==2 --hash=sha256:11\n";
  const notes: string[] = [];
  const steps: Parameters<RunStep>[0][] = [];
  try {
    await installRequirements(folder, text, {
      python: { program: "python3", version: "3.11", prefixes: [], indexHosts: [] },
      run: (step) => {
        steps.push(step);
        return Promise.resolve({ code: 0, signal: null });
      },
      output: { note: (_: string, note: string) => notes.push(note) } as unknown as RunOutput,
    });
    const path = join(folder, "requirements.txt");
    assert.equal(await Deno.readTextFile(path), text);
    assert.deepEqual(steps[0]?.args.slice(-3), ["--require-hashes", "--requirement", path]);
    assert.deepEqual(notes, ["installing the 2 libraries of the script with pip"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
