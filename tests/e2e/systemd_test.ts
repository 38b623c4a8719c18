// install.sh, updates, rollbacks, a power cut and uninstall.sh on a computer whose process 1 is
// systemd. The programs run from the sources. Where there can be no such computer, it is skipped.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ignoreBecause, tellSkip } from "../../shared/test_tools/skips.ts";
import { programPath } from "../../tools/run/options.ts";
import { eventually, Rig } from "./rig.ts";
import { noSystemdBecause, SystemdComputer } from "./systemd_computer.ts";
import { tinyProgram } from "./tiny_program.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const AGENT = "/opt/machine/bin/machine-agent";
const UNIT = "machine-agent.service";
const DROP_IN = `/etc/systemd/system/${UNIT}.d/override.conf`;
const DEADLINE_MS = 60_000;
const OWN_FOLDERS = ["root/opt", "root/etc/systemd", "local"];

/** What a user changed: the sources have to be found, and a test cannot wait for minutes. */
function override(searchPath: string): string {
  const named = `MACHINE_AGENT_PROGRAM=$$(readlink ${AGENT})`;
  return [
    "[Service]",
    "WatchdogSec=8",
    "RestartSec=1",
    `Environment=PATH=${searchPath} MACHINE_AGENT_TRIAL_SECONDS=3`,
    "ExecStart=",
    `ExecStart=/bin/sh -c '${named} exec ${AGENT} --config /etc/machine.json --dir /opt/machine'`,
    "",
  ].join("\n");
}

type Report = Record<"agent" | "server", Record<string, unknown>>;

/** A machine on such a computer, and the cloud that it belongs to, on this one. */
class InstalledMachine {
  constructor(readonly rig: Rig, readonly computer: SystemdComputer) {}

  async release(
    binary: "machine-agent" | "machine-server",
    version: string,
    file: string,
    channel: "stable" | "dev" = "stable",
  ): Promise<void> {
    const { code, stderr } = await this.rig.run("machine-cloud", [
      ...["release", "add", "--data", join(this.rig.dir, "cloud"), "--binary", binary],
      ...["--version", version, "--platform", "linux/amd64", "--channel", channel, file],
    ]);
    assert.equal(code, 0, stderr);
  }

  /** A program that becomes the one of these sources, or another one. */
  async program(name: string, path: string): Promise<string> {
    const file = join(this.rig.dir, name);
    await Deno.writeFile(file, tinyProgram(path, name));
    return file;
  }

  /** As it is downloaded by install.sh: it has to name itself when it installs itself. */
  async installer(): Promise<string> {
    const file = join(this.rig.dir, "installer");
    const script = `#!/bin/sh\ncase $1 in\n--install) set -- "$@" --program "$0" ;;\nesac\n` +
      `exec "${sources("machine-agent")}" "$@"\n`;
    await Deno.writeTextFile(file, script);
    return file;
  }

  async install(env: Record<string, string> = {}): Promise<string> {
    const version = { MACHINE_AGENT_VERSION: "1.0.0" };
    return await this.computer.ask(`sh ${ROOT}install/install.sh`, { ...version, ...env });
  }

  /** With a key of the part. */
  async installFirst(): Promise<string> {
    const { api_key_id, api_key, part_id } = this.rig.bootstrapped;
    return await this.install({
      MACHINE_CLOUD_ADDRESS: this.rig.cloudUrl,
      MACHINE_API_KEY_ID: api_key_id,
      MACHINE_API_KEY: api_key,
      MACHINE_PART_ID: part_id,
    });
  }

  async show(property: string): Promise<string> {
    return await this.computer.ask(`systemctl show --property=${property} --value ${UNIT}`);
  }

  /** What `machine-agent status` reports, as soon as it is so. */
  async reports(what: string, is: (report: Report) => boolean): Promise<Report> {
    let seen: Report | undefined;
    const probe = async () => {
      seen = JSON.parse(await this.computer.ask(`${AGENT} status --json`)).report as Report;
      return seen && is(seen) ? seen : undefined;
    };
    try {
      return await eventually(what, probe, DEADLINE_MS);
    } catch (error) {
      throw new Error(`${what}; it reports ${JSON.stringify(seen)}`, { cause: error });
    }
  }

  async trusts(program: "agent" | "server", version: string): Promise<Report> {
    return await this.reports(
      `${program} ${version} is trusted`,
      ({ [program]: found }) =>
        found["installed"] === version && found["state"] === "idle" &&
        (program === "agent" || found["running"] === version),
    );
  }

  /** Starts that systemd made by itself because the service had ended. */
  async restarts(): Promise<number> {
    const log = await this.journal();
    return log.split("\n").filter((line) => line.includes("Scheduled restart job")).length;
  }

  async journal(): Promise<string> {
    return (await this.computer.run(`journalctl --no-pager -o cat -u ${UNIT}`)).stdout;
  }
}

function sources(name: "machine-agent" | "machine-server"): string {
  return programPath(name, { binaries: undefined }, ROOT);
}

/** A machine that was installed and runs version 1.0.0 of everything. */
async function withMachine(test: (machine: InstalledMachine) => Promise<void>): Promise<void> {
  await using rig = await Rig.create();
  await using computer = await SystemdComputer.create();
  try {
    await computer.boot();
  } catch (error) {
    tellSkip(import.meta.url, `systemd does not start here: ${error}`);
    return;
  }
  const machine = new InstalledMachine(rig, computer);
  await Deno.mkdir(computer.path(dirname(DROP_IN)), { recursive: true });
  await Deno.writeTextFile(computer.path(DROP_IN), override(computer.searchPath));
  await rig.bootstrap({
    ...rig.defaultConfig(),
    processes: [{
      id: "open",
      name: "/bin/sh",
      args: ["-c", "mount -t tmpfs none /mnt; sleep 1d"],
    }],
    agent: { version_control: { "machine-server": "stable", agent: "stable" } },
  });
  await rig.startCloud();
  await machine.release("machine-agent", "1.0.0", await machine.installer(), "dev");
  const server = await machine.program("server-1", sources("machine-server"));
  await machine.release("machine-server", "1.0.0", server);
  try {
    await test(machine);
  } catch (error) {
    const log = await machine.journal().catch(String);
    process.stderr.write(
      `${rig.outputs()}\n--- journal\n${log.split("\n").slice(-80).join("\n")}\n`,
    );
    throw error;
  }
}

const ignore = ignoreBecause(import.meta.url, noSystemdBecause());

Deno.test({
  name: "under systemd a machine is installed, watched, updated, taken back and removed",
  ignore,
  fn: () =>
    withMachine(async (machine) => {
      const { computer } = machine;
      const before = await computer.files(OWN_FOLDERS);
      const said = await machine.installFirst();
      assert.match(said, /the service runs/);
      assert.equal(
        await machine.show("ActiveState"),
        "active",
        "install.sh waits until it is ready",
      );
      assert.equal(await computer.ask(`systemctl is-enabled ${UNIT}`), "enabled");
      await machine.trusts("server", "1.0.0");
      assert.match(await machine.show("StatusText"), /machine-server 1\.0\.0 is running/);
      assert.match(await machine.journal(), /machine-agent starts/);
      await eventually(
        "what the machine runs may mount",
        async () => (await computer.run("grep -q ' /mnt ' /proc/*/mounts")).code === 0,
      );

      const guest = (command: string) => computer.run(command, {}, "guest");
      assert.equal((await guest(`test -x ${AGENT}`)).code, 0, "everybody may run the program");
      for (const file of ["agent.db", "status.json", "agent-logs.db"]) {
        assert.match((await guest(`cat /opt/machine/${file}`)).stderr, /Permission denied/);
      }

      const frozen = await machine.show("MainPID");
      await computer.ask(`kill -STOP ${frozen}`);
      await eventually(
        "the watchdog has it started anew",
        async () =>
          await machine.show("MainPID") !== frozen &&
          await machine.show("ActiveState") === "active",
        DEADLINE_MS,
      );
      await machine.reports("the server runs again", ({ server }) => server["running"] === "1.0.0");

      assert.match(await machine.install(), /the service runs/);
      assert.equal(await Deno.readTextFile(computer.path(DROP_IN)), override(computer.searchPath));

      const restarts = await machine.restarts();
      await machine.release(
        "machine-agent",
        "2.0.0",
        await machine.program("agent-2", sources("machine-agent")),
      );
      await machine.trusts("agent", "2.0.0");
      assert.equal(await machine.restarts(), restarts, "it had itself started at once");

      const script = "#!/bin/sh\nexit 1\n";
      await Deno.writeTextFile(computer.path("root/broken.sh"), script, { mode: 0o755 });
      const broken = await machine.program("agent-broken", "/root/broken.sh");
      await machine.release("machine-agent", "2.1.0", broken);
      const back = await machine.reports(
        "2.1.0 is taken back",
        ({ agent }) => (agent["last_rollback"] as { from?: string } | null)?.from === "2.1.0",
      );
      assert.equal(back.agent["installed"], "2.0.0");
      assert.match(await machine.journal(), /machine-agent-guard: .*3 times.*; back to/);

      const removed = await computer.ask(`sh ${ROOT}install/uninstall.sh`);
      assert.match(removed, /machine\.json stays/);
      assert.deepEqual(await computer.files(OWN_FOLDERS), before);
      assert.equal(
        await computer.ask("systemctl list-units --all --no-legend 'machine-agent*'"),
        "",
      );
      const left = await computer.run("ps -eo args | grep '[m]achine-\\(agent\\|server\\)'");
      assert.equal(left.stdout, "");
    }),
});

Deno.test({
  name:
    "under systemd a machine comes back from power cuts in updates, and when it is switched off",
  ignore,
  fn: () =>
    withMachine(async (machine) => {
      const { computer } = machine;
      await machine.installFirst();
      await machine.trusts("server", "1.0.0");

      const server = await machine.program("server-2", sources("machine-server"));
      await machine.release("machine-server", "1.1.0", server);
      await machine.reports("1.1.0 is on trial", ({ server }) => server["state"] === "trial");
      await computer.cutPower();
      await computer.boot();
      await machine.trusts("server", "1.1.0");

      const link = computer.path(AGENT);
      const old = await Deno.readLink(link);
      const agent = await machine.program("agent-2", sources("machine-agent"));
      await machine.release("machine-agent", "2.0.0", agent);
      const isTurned = async () => await Deno.readLink(link) !== old;
      await eventually("the link leads to another agent", isTurned, DEADLINE_MS);
      await computer.cutPower();
      await computer.boot();
      const { server: served } = await machine.trusts("agent", "2.0.0");
      assert.equal(served["installed"], "1.1.0");

      await computer.powerOff();
      await computer.boot();
      await machine.reports("all runs again", ({ server }) => server["running"] === "1.1.0");
      assert.equal(await machine.show("ActiveState"), "active");
      assert.match(await machine.journal(), /machine-agent ends/);
    }),
});
