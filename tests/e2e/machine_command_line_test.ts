/** A person's day with `machine`, with the real programs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { programPath } from "../../tools/run/options.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import type { Program } from "./program.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "./rig.ts";
import { runToEnd } from "./run_to_end.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** `machine` with its settings in the rig's folder. */
class CommandLine {
  readonly #env: Record<string, string>;

  constructor(private readonly rig: Rig) {
    this.#env = { MACHINE_CONFIG_DIR: join(rig.dir, "settings") };
  }

  async run(args: string[], input = ""): Promise<{ code: number; out: string; err: string }> {
    const program = programPath(
      "machine",
      { binaries: Deno.env.get("MACHINE_TEST_BINARIES") },
      ROOT,
    );
    const { code, stdout, stderr } = await runToEnd(program, { args, env: this.#env, input });
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, out: text(stdout), err: text(stderr) };
  }

  /** Must end with 0. @returns standard output */
  async ok(args: string[], input = ""): Promise<string> {
    const { code, out, err } = await this.run(args, input);
    assert.equal(code, 0, `machine ${args.join(" ")}: ${err}`);
    return out;
  }

  start(args: string[]): Program {
    return this.rig.spawn("machine", args, this.#env);
  }
}

rigTest(
  "machine signs in, makes a machine, configures and watches it, and works on it",
  async (rig) => {
    const cli = new CommandLine(rig);
    await rig.startCloud();
    const { api_key_id, api_key } = rig.bootstrapped;
    await cli.ok(["login", "--cloud", rig.cloudUrl, "--key-id", api_key_id], `${api_key}\n`);

    const credentials = join(rig.dir, "arm.json");
    const create = ["machines", "create", "arm", "--location", "Lab"];
    const made = JSON.parse(await cli.ok([...create, "--credentials-out", credentials, "--json"]));
    const tunnelled = freePort();
    const config = join(rig.dir, "arm-config.json");
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        components: [
          { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" },
          { name: "elbow", api: "rdk:component:arm", model: "rdk:builtin:fake" },
          { name: "pad", api: "rdk:component:input_controller", model: "rdk:builtin:webgamepad" },
        ],
        services: [{ name: "shell", api: "rdk:service:shell", model: "rdk:builtin:shell" }],
        network: {
          bind_address: `127.0.0.1:${rig.serverPort}`,
          traffic_tunnel_endpoints: [{ port: rig.cloudPort }],
        },
      }),
    );
    await cli.ok(["config", "set", "arm", config]);
    const logs = cli.start(["logs", "-f", "arm"]);
    const server = rig.spawn("machine-server", ["-config", credentials]);
    await server.waitForLine(READY_LINE, 90_000);
    await logs.waitForLine(/INFO .*configuration applied/, 90_000);

    const resources = await eventually(
      "a call through the cloud",
      () => cli.ok(["resources", "arm"]),
    );
    assert.match(resources, /^host +rdk:component:sensor$/m);
    const status = JSON.parse(await cli.ok(["machines", "status", made.id, "--json"]));
    assert.equal(status.online, true);
    const readings = JSON.parse(await cli.ok(["call", "arm", "host", "readings", "--json"]));
    assert.ok(Object.keys(readings.readings).length >= 5);
    // What its API imports is imported on several ways.
    const { controls } = JSON.parse(await cli.ok(["call", "arm", "pad", "controls", "--json"]));
    assert.ok(controls.includes("AbsoluteX"), `${controls}`);
    const joints = JSON.parse(await cli.ok(["call", "arm", "elbow", "jointPositions", "--json"]));
    assert.ok(Array.isArray(joints.positions.values));
    assert.match(
      await cli.ok(["shell", "arm"], "echo $((40+2))-from-shell"),
      /42-from-shell/,
    );

    const sent = join(rig.dir, "sent");
    const back = join(rig.dir, "back");
    await Deno.mkdir(join(sent, "inner"), { recursive: true });
    const content = crypto.getRandomValues(new Uint8Array(60_000));
    await Deno.writeFile(join(sent, "inner", "data"), content);
    const far = join(rig.dir, "far");
    assert.equal((await cli.run(["cp", sent, `arm:${far}`])).code, 2, "a folder needs -r");
    await cli.ok(["cp", "-r", sent, `arm:${far}`]);
    const direct = ["--address", rig.serverUrl];
    await cli.ok(["cp", "-r", `arm:${far}`, back, ...direct]);
    assert.deepEqual(await Deno.readFile(join(back, "inner", "data")), content);

    const tunnel = cli.start(["tunnel", "arm", `${tunnelled}:${rig.cloudPort}`]);
    await tunnel.waitForLine(/leads to port/, 90_000);
    const answer = await fetch(`http://127.0.0.1:${tunnelled}/`, {
      signal: AbortSignal.timeout(60_000),
    });
    assert.equal(answer.status, 200);
    await answer.body?.cancel();

    const second = join(rig.dir, "second.json");
    await Deno.writeTextFile(
      second,
      (await Deno.readTextFile(config)).replace('"host"', '"other"'),
    );
    await cli.ok(["config", "set", "arm", second]);
    await cli.ok(["config", "restore", "arm", "1"]);
    await eventually(
      "the restored configuration",
      async () => /^host /m.test(await cli.ok(["resources", "arm", ...direct])),
    );
    await logs.stop(5_000);
    await tunnel.stop(5_000);
  },
);
