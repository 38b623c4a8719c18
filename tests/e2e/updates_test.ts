import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type AgentStatus,
  type ProgramStatus,
  ProgramStatus_State as State,
} from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { programPath } from "../../tools/run/options.ts";
import { Program } from "./program.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "./rig.ts";
import { canRunTinyPrograms, tinyProgram } from "./tiny_program.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** So long a new version is on trial here; a minute in the field. */
const TRIAL_SECONDS = "2";
const UPDATE_DEADLINE_MS = 240_000;

/** A machine whose window is opened and closed by a file, and that follows the stable channel. */
class Fleet {
  private constructor(private readonly rig: Rig) {}

  static async start(rig: Rig, sensor = "gate"): Promise<Fleet> {
    const fleet = new Fleet(rig);
    await fleet.window("open");
    await rig.bootstrap({
      ...rig.defaultConfig(),
      components: [{
        name: "gate",
        api: "rdk:component:sensor",
        model: "rdk:builtin:command",
        attributes: { program: "cat", args: [fleet.#windowFile] },
      }],
      maintenance: {
        sensor_name: `rdk:component:sensor/${sensor}`,
        maintenance_allowed_key: "may_update",
      },
      agent: { version_control: { "machine-server": "stable" } },
    });
    await rig.startCloud();
    return fleet;
  }

  async window(state: "open" | "closed"): Promise<void> {
    const reading = { may_update: state === "open" };
    await Deno.writeTextFile(this.#windowFile, JSON.stringify(reading));
  }

  /** Releases the machine-server of these sources, or another program, as a version. */
  async release(version: string, program = programOf("machine-server")): Promise<void> {
    await this.#add("machine-server", version, program);
  }

  /** Likewise for machine-agent. */
  async releaseAgent(version: string, program = programOf("machine-agent")): Promise<void> {
    await this.#add("machine-agent", version, program);
  }

  /** A script that does what it says; a release can be one that becomes it. */
  async script(name: string, text: string): Promise<string> {
    const path = join(this.rig.dir, name);
    await Deno.writeTextFile(path, `#!/bin/sh\n${text}`, { mode: 0o755 });
    return path;
  }

  async tellAgent(...words: string[]): Promise<void> {
    const { code, stderr } = await this.rig.run("machine-cloud", [
      ...["agent", "command", "--data", join(this.rig.dir, "cloud"), "--part", this.rig.partId],
      ...words,
    ]);
    assert.equal(code, 0, stderr);
  }

  /** What the owner of the host says to the agent. */
  async ownerSays(...words: string[]): Promise<void> {
    const { code, stderr } = await this.rig.run("machine-agent", [
      ...words,
      ...["--dir", this.#agentDir],
    ]);
    assert.equal(code, 0, stderr);
  }

  async startAgent(): Promise<Program> {
    const env = { MACHINE_AGENT_TRIAL_SECONDS: TRIAL_SECONDS };
    const agent = this.rig.spawn("machine-agent", this.#agentArgs, env);
    await agent.waitForLine(READY_LINE, UPDATE_DEADLINE_MS);
    return agent;
  }

  /** The agent as it is installed: below a launcher that starts what its link leads to. */
  async startLauncher(): Promise<Program> {
    const program = join(this.rig.dir, "machine-agent-first");
    await Deno.writeFile(program, tinyProgram(programOf("machine-agent"), "first"), {
      mode: 0o755,
    });
    const { code, stderr } = await this.rig.run("machine-agent", [
      ...["--install", "--dev-mode", "--dir", this.#agentDir, "--program", program],
    ]);
    assert.equal(code, 0, stderr);
    const launcher = Program.start({
      name: "machine-agent-launcher",
      command: join(this.#agentDir, "bin", "machine-agent-launcher"),
      args: this.#agentArgs,
      env: { MACHINE_AGENT_TRIAL_SECONDS: TRIAL_SECONDS, MACHINE_HOME: this.rig.serverHome },
    });
    this.rig.programs.push(launcher);
    await launcher.waitForLine(READY_LINE, UPDATE_DEADLINE_MS);
    return launcher;
  }

  /** What the cloud shows of the machine, once what it shows of a program is as wanted. */
  async status(
    what: string,
    is: (program: ProgramStatus) => boolean,
    program: "server" | "agent" = "server",
  ): Promise<AgentStatus> {
    let seen: AgentStatus | undefined;
    const probe = async () => {
      seen = (await this.rig.liveStatus()).agent;
      const found = seen?.[program];
      return found && is(found) ? seen : undefined;
    };
    try {
      return await eventually(what, probe, UPDATE_DEADLINE_MS);
    } catch (error) {
      const text = JSON.stringify(
        seen,
        (_, value) => typeof value === "bigint" ? `${value}` : value,
      );
      throw new Error(`${what}; the cloud shows ${text}`, { cause: error });
    }
  }

  async runs(version: string): Promise<AgentStatus> {
    return await this.status(
      `machine-server ${version} is trusted`,
      (server) =>
        server.installed === version && server.running === version && server.state === State.IDLE,
    );
  }

  /** What `machine-agent status --json` prints. */
  async localStatus(): Promise<Record<string, Record<string, unknown>>> {
    const { code, stdout, stderr } = await this.rig.run("machine-agent", [
      ...["status", "--json", "--dir", this.#agentDir, "-c", this.rig.credentialsFile],
    ]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).report;
  }

  async #add(binary: string, version: string, program: string): Promise<void> {
    const file = join(this.rig.dir, `${binary}-${version}`);
    await Deno.writeFile(file, tinyProgram(program, version));
    const { code, stderr } = await this.rig.run("machine-cloud", [
      ...["release", "add", "--data", join(this.rig.dir, "cloud")],
      ...["--binary", binary, "--version", version],
      ...["--platform", "linux/amd64", "--channel", "stable", file],
    ]);
    assert.equal(code, 0, stderr);
  }

  get #agentArgs(): string[] {
    return ["-c", this.rig.credentialsFile, "--dev-mode", "--dir", this.#agentDir];
  }

  get #windowFile(): string {
    return join(this.rig.dir, "window.json");
  }

  get #agentDir(): string {
    return join(this.rig.dir, "agent");
  }
}

function programOf(name: "machine-agent" | "machine-server"): string {
  return programPath(name, { binaries: Deno.env.get("MACHINE_TEST_BINARIES") }, ROOT);
}

const options = { ignore: !canRunTinyPrograms };

rigTest(
  "a machine goes from release to release inside its window, and says what it waits for outside",
  async (rig) => {
    const fleet = await Fleet.start(rig);
    await fleet.release("1.0.0");
    const agent = await fleet.startAgent();
    await fleet.runs("1.0.0");
    const servers = await rig.serversOf(agent);

    await fleet.window("closed");
    await fleet.release("1.1.0");
    const waiting = await fleet.status(
      "1.1.0 waits",
      ({ state, target }) => state === State.WAITING && target === "1.1.0",
    );
    assert.deepEqual([waiting.server?.installed, waiting.server?.running], ["1.0.0", "1.0.0"]);
    assert.match(
      waiting.waitingFor,
      /machine-server 1\.1\.0 waits .*maintenance sensor forbids it/,
    );
    assert.ok(waiting.waitingSince && timestampDate(waiting.waitingSince) <= new Date());
    assert.deepEqual(await rig.serversOf(agent), servers, "not allowed means not done");
    const local = await fleet.localStatus();
    assert.equal(local["server"]?.["state"], "waiting");
    assert.match(String(local["waiting_for"]), /maintenance sensor forbids it/);

    await fleet.window("open");
    const done = await fleet.runs("1.1.0");
    assert.deepEqual([done.server?.previous, done.waitingFor], ["1.0.0", ""]);
    rig.forgetServerSession();
    await eventually("it answers", () => rig.readings("gate"));
  },
  options,
);

rigTest("a broken release is taken back, and the status says why", async (rig) => {
  const fleet = await Fleet.start(rig);
  await fleet.release("1.0.0");
  await fleet.startAgent();
  await fleet.runs("1.0.0");

  const broken = await fleet.script("broken.sh", "echo 'cannot find the camera' >&2\nexit 3\n");
  await fleet.release("1.2.0", broken);
  const back = await fleet.status("1.2.0 is taken back", ({ lastRollback }) => {
    return lastRollback?.from === "1.2.0";
  });
  assert.equal(back.server?.lastRollback?.to, "1.0.0");
  assert.match(
    back.server?.lastRollback?.reason ?? "",
    /exited with code 3.*cannot find the camera/,
  );
  const refused = await fleet.status(
    "1.0.0 runs again",
    ({ running, state }) => running === "1.0.0" && state === State.REFUSED,
  );
  assert.deepEqual(refused.server?.bad.map(({ version }) => version), ["1.2.0"]);
  rig.forgetServerSession();
  await eventually("it answers", () => rig.readings("gate"));

  await fleet.release("1.2.1");
  const next = await fleet.runs("1.2.1");
  assert.equal(next.server?.lastRollback?.from, "1.2.0", "the next one is tried");
}, options);

rigTest("an operator's word beats a closed window, once", async (rig) => {
  const fleet = await Fleet.start(rig);
  await fleet.release("1.0.0");
  const agent = await fleet.startAgent();
  await fleet.runs("1.0.0");
  await fleet.window("closed");
  await fleet.release("1.1.0");
  await fleet.status("1.1.0 waits", ({ state }) => state === State.WAITING);
  await fleet.tellAgent("force");
  await fleet.runs("1.1.0");

  await fleet.release("1.2.0");
  await fleet.status(
    "1.2.0 waits",
    ({ state, target }) => state === State.WAITING && target === "1.2.0",
  );
  const servers = await rig.serversOf(agent);
  await fleet.tellAgent("restart");
  await eventually("another process runs", async () => {
    const now = await rig.serversOf(agent);
    return now.length > 0 && now.every((pid) => !servers.includes(pid));
  });
  const after = await fleet.status("1.1.0 runs", ({ running }) => running === "1.1.0");
  assert.equal(after.server?.installed, "1.1.0", "a restart is not a leave to install");
}, options);

rigTest("a version that the cloud does not have changes nothing, and is named", async (rig) => {
  const fleet = await Fleet.start(rig);
  await fleet.release("1.0.0");
  await fleet.startAgent();
  await fleet.runs("1.0.0");
  const config = await rig.config();
  await rig.saveConfig({
    ...config,
    agent: { version_control: { "machine-server": "9.9.9" } },
  });
  const status = await fleet.status("9.9.9 is missed", ({ error }) => error !== "");
  assert.match(status.server?.error ?? "", /9\.9\.9/);
  assert.deepEqual([status.server?.installed, status.server?.running], ["1.0.0", "1.0.0"]);
}, options);

rigTest(
  "the agent replaces itself inside the window, and a broken one is replaced by the one before",
  async (rig) => {
    const fleet = await Fleet.start(rig);
    await fleet.release("1.0.0");
    const launcher = await fleet.startLauncher();
    await fleet.runs("1.0.0");
    const [before] = await rig.serversOf(launcher);

    await fleet.window("closed");
    await fleet.releaseAgent("2.0.0");
    const waiting = await fleet.status(
      "the agent waits",
      ({ state }) => state === State.WAITING,
      "agent",
    );
    assert.match(waiting.waitingFor, /machine-agent 2\.0\.0 waits .*maintenance sensor forbids it/);
    assert.equal((await rig.serversOf(launcher))[0], before);

    await fleet.window("open");
    await fleet.status(
      "machine-agent 2.0.0 is trusted",
      (agent) => agent.installed === "2.0.0" && agent.state === State.IDLE,
      "agent",
    );
    rig.forgetServerSession();
    await eventually("the server of the new agent answers", () => rig.readings("gate"));

    await fleet.releaseAgent("2.1.0", await fleet.script("broken-agent.sh", "exit 1\n"));
    const back = await fleet.status(
      "machine-agent 2.1.0 is taken back",
      ({ lastRollback, state }) => lastRollback?.from === "2.1.0" && state === State.REFUSED,
      "agent",
    );
    assert.equal(back.agent?.lastRollback?.to, "2.0.0");
    assert.equal(back.agent?.installed, "2.0.0");
    assert.notEqual(back.agent?.lastRollback?.reason, "");
    rig.forgetServerSession();
    await eventually("the server answers", () => rig.readings("gate"));
  },
  options,
);

rigTest(
  "a window whose sensor is not configured stays shut until the owner opens it",
  async (rig) => {
    const fleet = await Fleet.start(rig, "misspelt");
    await fleet.release("1.0.0");
    await fleet.startAgent();
    await fleet.runs("1.0.0");
    await fleet.release("1.1.0");
    const shut = await fleet.status(
      "1.1.0 waits",
      ({ state, target }) => state === State.WAITING && target === "1.1.0",
    );
    assert.match(shut.waitingFor, /could not find sensor named rdk:component:sensor\/misspelt/);
    await fleet.ownerSays("open-window", "--minutes", "5");
    await fleet.runs("1.1.0");
  },
  options,
);

rigTest("an agent with pinned keys starts nothing that they did not sign", async (rig) => {
  await rig.bootstrap();
  await rig.startCloud();
  const defaults = join(rig.dir, "defaults.json");
  await Deno.writeTextFile(defaults, JSON.stringify({ release_keys: ["0f".repeat(32)] }));
  const dir = join(rig.dir, "agent");
  const args = ["-c", rig.credentialsFile, "--dev-mode", "--dir", dir, "--defaults", defaults];
  const agent = rig.spawn("machine-agent", args);
  const refused = await eventually("the address is refused", async () => {
    const text = await Deno.readTextFile(join(dir, "status.json")).catch(() => "{}");
    return JSON.parse(text).server?.error || undefined;
  });
  assert.match(refused, /by its address is not signed, and the defaults file has release_keys/);
  assert.deepEqual(await rig.serversOf(agent), []);
}, options);
