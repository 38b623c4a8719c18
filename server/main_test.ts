/** The program as its users start it: options that print and end, a clean end by a signal. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitFor } from "../shared/time/wait_for.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-main-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function command(args: string[], folder: string): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", MAIN, ...args],
    env: { MACHINE_HOME: join(folder, "home") },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

async function run(args: string[], folder: string) {
  const { code, stdout, stderr } = await command(args, folder).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

Deno.test("machine-server prints version, help and what is missing", async () => {
  await withFolder(async (folder) => {
    const [version, help, nothing] = await Promise.all([
      run(["-version"], folder),
      run(["--help"], folder),
      run([], folder),
    ]);
    assert.equal(version.code, 0);
    assert.match(version.stdout, /^machine-server \d+\.\d+\.\d+.* \(commit .+\)\n$/);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /-dump-resources FILE/);
    assert.equal(nothing.code, 1);
    assert.match(nothing.stderr, /-config FILE[^]*Usage:/);
  });
});

Deno.test("machine-server -dump-resources writes every model, sorted", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "resources.json");
    assert.equal((await run([`-dump-resources=${path}`], folder)).code, 0);
    const entries = JSON.parse(await Deno.readTextFile(path));
    const keys = entries.map(({ api, model }: { api: string; model: string }) => `${api} ${model}`);
    assert.deepEqual(keys, [
      "rdk:component:generic rdk:builtin:fake",
      "rdk:component:sensor rdk:builtin:fake",
      "rdk:component:sensor rdk:builtin:host",
      "rdk:service:generic rdk:builtin:fake",
    ]);
    assert.ok(entries.every((entry: object) => "attribute_schema" in entry));
  });
});

Deno.test({
  name:
    "machine-server writes its log to the file, ends clean by SIGTERM, and keeps its state private",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const config = join(folder, "config.json");
      const log = join(folder, "server.log");
      await Deno.writeTextFile(config, '{"network": {"bind_address": "127.0.0.1:0"}}');
      const child = command(["-config", config, "-log-file", log, "-ftdc"], folder).spawn();
      const ended = child.output();
      await waitFor(
        async () => (await Deno.readTextFile(log)).includes("configuration applied"),
        { deadlineMs: 20_000, what: "the configuration in the log file" },
      );
      child.kill("SIGTERM");
      const { code, stdout } = await ended;
      assert.equal(code, 0);
      assert.equal(stdout.length, 0, "nothing on standard output beside the file");
      const text = await Deno.readTextFile(log);
      assert.match(text, /\tINFO\trdk\t\S+:\d+\tserving\t\{"url":"http:\/\/127\.0\.0\.1:\d+"\}\n/);
      assert.match(text, /option -ftdc has no effect/);
      assert.match(text, /the server ends\t\{"reason":"signal"\}/);
      const home = join(folder, "home");
      assert.equal((await Deno.stat(home)).mode! & 0o777, 0o700);
      assert.equal((await Deno.stat(join(home, "server.db"))).mode! & 0o777, 0o600);
    });
  },
});
