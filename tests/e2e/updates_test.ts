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
import type { Program } from "./program.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "./rig.ts";
import { canRunTinyPrograms, tinyProgram } from "./tiny_program.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** So long a new version is on trial here; a minute in the field. */
const TRIAL_SECONDS = "2";
const UPDATE_DEADLINE_MS = 60_000;

/** A machine whose window is opened and closed by a file, and that follows the stable channel. */
class Fleet {
  private constructor(private readonly rig: Rig) {}

  static async start(rig: Rig): Promise<Fleet> {
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
        sensor_name: "rdk:component:sensor/gate",
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

  /** Releases the machine-server of these sources under a version of its own. */
  async release(version: string, program = this.#server): Promise<void> {
    const file = join(this.rig.dir, `machine-server-${version}`);
    await Deno.writeFile(file, tinyProgram(program, version));
    const { code, stderr } = await this.rig.run("machine-cloud", [
      ...["release", "add", "--data", join(this.rig.dir, "cloud")],
      ...["--binary", "machine-server", "--version", version],
      ...["--platform", "linux/amd64", "--channel", "stable", file],
    ]);
    assert.equal(code, 0, stderr);
  }

  async tellAgent(...words: string[]): Promise<void> {
    const { code, stderr } = await this.rig.run("machine-cloud", [
      ...["agent", "tell", "--data", join(this.rig.dir, "cloud"), "--part", this.rig.partId],
      ...words,
    ]);
    assert.equal(code, 0, stderr);
  }

  async startAgent(): Promise<Program> {
    const agent = this.rig.spawn("machine-agent", [
      ...["-c", this.rig.credentialsFile, "--dev-mode", "--dir", this.#agentDir],
    ], { MACHINE_AGENT_TRIAL_SECONDS: TRIAL_SECONDS });
    await agent.waitForLine(READY_LINE, UPDATE_DEADLINE_MS);
    return agent;
  }

  /** What the cloud shows of the machine, once the server's part of it is as wanted. */
  async status(what: string, is: (server: ProgramStatus) => boolean): Promise<AgentStatus> {
    let seen: AgentStatus | undefined;
    const probe = async () => {
      seen = (await this.rig.liveStatus()).agent;
      return seen?.server && is(seen.server) ? seen : undefined;
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

  get #windowFile(): string {
    return join(this.rig.dir, "window.json");
  }

  get #agentDir(): string {
    return join(this.rig.dir, "agent");
  }

  get #server(): string {
    return programPath("machine-server", { binaries: Deno.env.get("MACHINE_TEST_BINARIES") }, ROOT);
  }
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
    assert.match(waiting.waitingFor, /machine-server 1\.1\.0 waits .*maintenance sensor says no/);
    assert.ok(waiting.waitingSince && timestampDate(waiting.waitingSince) <= new Date());
    assert.deepEqual(await rig.serversOf(agent), servers, "not allowed means not done");
    const local = await fleet.localStatus();
    assert.equal(local["server"]?.["state"], "waiting");
    assert.match(String(local["waiting_for"]), /maintenance sensor says no/);

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

  const broken = join(rig.dir, "broken.sh");
  const script = "#!/bin/sh\necho 'cannot find the camera' >&2\nexit 3\n";
  await Deno.writeTextFile(broken, script, { mode: 0o755 });
  await fleet.release("1.2.0", broken);
  const back = await fleet.status("1.2.0 is taken back", ({ lastRollback }) => {
    return lastRollback?.from === "1.2.0";
  });
  assert.equal(back.server?.lastRollback?.to, "1.0.0");
  assert.match(
    back.server?.lastRollback?.reason ?? "",
    /ended with code 3.*cannot find the camera/,
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
