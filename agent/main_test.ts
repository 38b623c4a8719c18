import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Status } from "./status/status.ts";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

/** Runs the program to its end. */
async function agent(args: string[], env: Record<string, string> = {}) {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", MAIN, ...args],
    env,
    stdin: "null",
    signal: AbortSignal.timeout(300_000),
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: output.code, stdout: text(output.stdout), stderr: text(output.stderr) };
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("machine-agent -v prints its version and ends", async () => {
  const { code, stdout } = await agent(["-v"]);
  assert.equal(code, 0);
  assert.match(stdout, /^machine-agent \d+\.\d+\.\d+\S* \(commit \w+\)\n$/);
});

Deno.test("machine-agent ends with 2 and one line when it is called wrongly", async () => {
  for (
    const [args, env] of [[["--bogus"], {}], [[], { MACHINE_AGENT_DEBUG: "perhaps" }]] as const
  ) {
    const { code, stdout, stderr } = await agent([...args], env);
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /^machine-agent: .*(--bogus|MACHINE_AGENT_DEBUG).*\n$/);
  }
});

Deno.test("machine-agent ends with 1 and one line when it cannot work", () =>
  withFolder(async (dir) => {
    const missing = join(dir, "missing.json");
    const { code, stderr } = await agent(["--dev-mode", "-c", missing, "--dir", dir]);
    assert.equal(code, 1);
    assert.match(stderr, /^machine-agent: .*missing\.json.*\n$/);
  }));

Deno.test("machine-agent status answers where no agent ever ran", () =>
  withFolder(async (dir) => {
    const text = await agent(["status", "--dir", dir, "-c", join(dir, "m.json")]);
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stdout, /not running or never run here/);
    const json = await agent(["status", "--json", "--dir", dir, "-c", join(dir, "m.json")]);
    const status = JSON.parse(json.stdout) as Status;
    assert.deepEqual([status.dir, status.is_running, status.report], [dir, false, null]);
  }));

Deno.test({
  name: "machine-agent --install --dev-mode leaves a folder whose launcher starts the program",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withFolder(async (folder) => {
      const program = join(folder, "program");
      await Deno.writeTextFile(program, '#!/bin/sh\necho "started $*"\n', { mode: 0o755 });
      const dir = join(folder, "agent");
      const installed = await agent([
        ...["--install", "--dev-mode", "--program", program],
        ...["--dir", dir, "-c", "/m.json"],
      ]);
      assert.equal(installed.code, 0, installed.stderr);
      const command = installed.stdout.trim().split("\n").at(-1) ?? "";
      assert.equal(command, `${dir}/bin/machine-agent-launcher --dev-mode --dir ${dir} -c /m.json`);
      const [launcher = "", ...args] = command.split(" ");
      const { code, stdout } = await new Deno.Command(launcher, { args, stdin: "null" }).output();
      assert.equal(code, 0);
      assert.equal(
        new TextDecoder().decode(stdout),
        `started --dev-mode --dir ${dir} -c /m.json\n`,
      );
    }),
});

Deno.test("machine-agent --install refuses to install its sources", async () => {
  const { code, stderr } = await agent(["--install", "--root", "/nowhere"]);
  assert.equal(code, 1);
  assert.match(stderr, /runs from its sources; make agent/);
});

Deno.test("machine-agent open-window writes into the folder of an agent, and into no other", () =>
  withFolder(async (dir) => {
    const none = await agent(["open-window", "--dir", dir]);
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /there is no machine-agent in .*--dir/);
    await Deno.mkdir(join(dir, "etc"));
    const opened = await agent(["open-window", "--dir", dir, "--minutes", "5"]);
    assert.equal(opened.code, 0, opened.stderr);
    assert.match(opened.stdout, /let through until 20\d\d-/);
    const closed = await agent(["close-window", "--dir", dir]);
    assert.equal(closed.stdout, "the maintenance sensor decides\n", closed.stderr);
    const allowed = await agent(["allow-version", "1.0.0", "--dir", dir]);
    assert.match(allowed.stdout, /^machine-server 1\.0\.0 and newer may be installed/);
  }));
