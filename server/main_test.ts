/** The program as its users start it: options that print and end, a clean end by a signal. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitFor } from "../shared/base/time/wait_for.ts";

/** Bundled, as it starts in a twentieth of the time that its sources take. */
const PROGRAM = fileURLToPath(new URL("../bin/machine-server", import.meta.url));

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-main-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function command(args: string[], folder: string, env: Record<string, string> = {}): Deno.Command {
  return new Deno.Command(PROGRAM, {
    args,
    env: { MACHINE_HOME: join(folder, "home"), ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

async function run(args: string[], folder: string, env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await command(args, folder, env).output();
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
    const keys: string[] = entries.map((entry: { api: string; model: string }) =>
      `${entry.api} ${entry.model}`
    );
    assert.deepEqual(keys, keys.toSorted());
    for (
      const key of [
        "rdk:component:generic rdk:builtin:fake",
        "rdk:component:sensor rdk:builtin:fake",
        "rdk:component:sensor rdk:builtin:host",
        "rdk:service:generic rdk:builtin:fake",
      ]
    ) assert.ok(keys.includes(key), key);
    for (const { model, attribute_schema: schema } of entries) {
      assert.equal(schema.type, "object", `${model} has a JSON Schema of its attributes`);
    }
    assert.match(await Deno.readTextFile(path), /^\[\n\t\{\n\t\t"api": "rdk:/);
    if (Deno.build.os !== "windows") assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
  });
});

Deno.test("machine-server ends with 2 when the command line is wrong, with 1 when a path is", async () => {
  await withFolder(async (folder) => {
    const config = join(folder, "config.json");
    await Deno.writeTextFile(config, "{}");
    const missing = join(folder, "missing", "x");
    const [option, value, assets, profile, dump] = await Promise.all([
      run(["-confg=x"], folder),
      run(["-debug=maybe"], folder),
      run(["-config", config, "-shareddir", missing], folder),
      run(["-config", config, "-cpuprofile", missing], folder),
      run(["-dump-resources", missing], folder),
    ]);
    assert.deepEqual([option, value, assets, profile, dump].map(({ code }) => code), [
      2,
      2,
      1,
      1,
      1,
    ]);
    assert.match(
      option.stderr,
      /^machine-server: unknown option -confg \(did you mean -config\?\)/m,
    );
    assert.match(value.stderr, /invalid value "maybe" for -debug: allowed are true and false/);
    assert.match(assets.stderr, /cannot serve static assets of .*missing.*ENOENT/);
    for (const { stderr } of [profile, dump]) {
      assert.match(stderr, /cannot write .*missing.*ENOENT/);
    }
  });
});

Deno.test("machine-server -network-check says plainly that nothing answers", async () => {
  await withFolder(async (folder) => {
    const port = 1; // Nobody listens there.
    const server = [`127.0.0.1:${port}`];
    const targets = {
      ...{ dns_servers: server, stun_udp: server, stun_tcp: server, timeout: "500ms" },
      ...{ names: ["no-such-host.invalid"], packet_loss: [] },
    };
    const config = join(folder, "config.json");
    const cloud = { app_address: `http://127.0.0.1:${port}`, id: "p", secret: "s" };
    await Deno.writeTextFile(config, JSON.stringify({ cloud }));
    const setting = { MACHINE_NETWORK_CHECK: JSON.stringify(targets) };
    const [offline, wrong] = await Promise.all([
      run(["-network-check", "-config", config], folder, setting),
      run(["-network-check"], folder, { MACHINE_NETWORK_CHECK: '{"dns": []}' }),
    ]);
    assert.equal(offline.code, 1);
    assert.match(offline.stdout, new RegExp(`^FAILED  cloud +connect to 127.0.0.1:${port} `, "m"));
    assert.match(offline.stdout, new RegExp(`^FAILED  dns +TCP 127.0.0.1:${port} `, "m"));
    assert.match(offline.stdout, /\nFAILED: the cloud cannot be reached: connect to /);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /unknown key "dns" in the targets/);
  });
});

Deno.test({
  name:
    "machine-server writes log and CPU profile, ends clean by SIGTERM, and keeps its state private",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const config = join(folder, "config.json");
      const log = join(folder, "server.log");
      await Deno.writeTextFile(config, '{"network": {"bind_address": "127.0.0.1:0"}}');
      const profile = join(folder, "run.cpuprofile");
      const options = ["-log-file", log, "-disable-mdns", "-cpuprofile", profile];
      const child = command(["-config", config, ...options], folder).spawn();
      const ended = child.output();
      await waitFor(
        async () => (await Deno.readTextFile(log)).includes("configuration applied"),
        { deadlineMs: 60_000, what: "the configuration in the log file" },
      );
      child.kill("SIGTERM");
      const { code, stdout } = await ended;
      assert.equal(code, 0);
      assert.equal(stdout.length, 0, "nothing on standard output beside the file");
      const text = await Deno.readTextFile(log);
      assert.match(text, /\tINFO\trdk\t\S+:\d+\tserving\t\{"url":"http:\/\/127\.0\.0\.1:\d+"[,}]/);
      const { nodes, samples, timeDeltas } = JSON.parse(await Deno.readTextFile(profile));
      assert.ok(nodes.length > 1 && samples.length > 1);
      assert.equal(samples.length, timeDeltas.length);
      assert.match(text, /the server shuts down\t\{"event":"server_stopping","reason":"signal"\}/);
      const home = join(folder, "home");
      assert.equal((await Deno.stat(home)).mode! & 0o777, 0o700);
      assert.equal((await Deno.stat(join(home, "server.db"))).mode! & 0o777, 0o600);
    });
  },
});
