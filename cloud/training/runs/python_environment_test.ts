import assert from "node:assert/strict";
import { join } from "node:path";
import {
  environmentPython,
  installRequirements,
  makeEnvironment,
  type RunStep,
} from "./python_environment.ts";
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

const output = { note: () => {}, tail: () => "the tail" } as unknown as RunOutput;
const PYTHON = { program: "python3", version: "3.11", prefixes: [], indexHosts: [] };

async function runHere({ program, args }: { program: string; args: readonly string[] }) {
  const { code, stdout, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return { code, signal: null, text };
}

Deno.test("makeEnvironment() makes an environment with pip, without waiting for ensurepip", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-environment-" });
  try {
    const steps: string[] = [];
    const run: RunStep = (step) => {
      steps.push(step.args.join(" "));
      return runHere(step);
    };
    await makeEnvironment(folder, { python: PYTHON, run, output });
    const program = environmentPython(folder);
    const { code, text } = await runHere({ program, args: ["-I", "-m", "pip", "list"] });
    assert.equal(code, 0, text);
    assert.match(text, /^pip +\d/m);
    const modern = await runHere({
      program,
      args: ["-c", "import sys; print(sys.version_info >= (3, 12))"],
    });
    if (modern.text.startsWith("False")) assert.match(text, /^setuptools +\d/m);
    assert.ok(steps.length === 2 || steps[2]?.includes("ensurepip"), steps.join("\n"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("makeEnvironment() falls back to ensurepip where there are no wheels, and says what failed", async () => {
  const steps: string[] = [];
  const codes = [0, 3, 0, 0, 1, 1];
  const run: RunStep = ({ program, args }) => {
    steps.push(`${program} ${args.slice(0, 3).join(" ").slice(0, 16)}`);
    return Promise.resolve({ code: codes.shift() ?? 0, signal: null });
  };
  await makeEnvironment("/e", { python: PYTHON, run, output });
  assert.equal(steps.length, 3);
  assert.match(steps[2] ?? "", /^\/e.*-I -m ensurepip/);
  for (let tries = 0; tries < 2; tries++) {
    await assert.rejects(
      makeEnvironment("/e", { python: PYTHON, run, output }),
      /making the Python environment[^]*the tail/,
    );
  }
  assert.equal(steps.length, 6);
});
