/** A machine that was installed on a host whose process 1 is systemd. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { noSystemdBootBecause } from "../../shared/test_tools/probes.ts";
import { tellSkip } from "../../shared/test_tools/skips.ts";
import { programPath } from "../../tools/run/options.ts";
import { eventually, Rig } from "./rig.ts";
import { SystemdComputer } from "./systemd_computer.ts";
import { tinyProgram } from "./tiny_program.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const AGENT = "/opt/machine/bin/machine-agent";
export const UNIT = "machine-agent.service";
export const DROP_IN = `/etc/systemd/system/${UNIT}.d/override.conf`;
export const DEADLINE_MS = 240_000;

/** What a user changed: the sources have to be found, and a test cannot wait for minutes. */
export function override(searchPath: string): string {
  const named = `MACHINE_AGENT_PROGRAM=$$(readlink ${AGENT})`;
  return [
    "[Service]",
    "WatchdogSec=15",
    "RestartSec=1",
    `Environment=PATH=${searchPath} MACHINE_AGENT_TRIAL_SECONDS=3`,
    "ExecStart=",
    `ExecStart=/bin/sh -c '${named} exec ${AGENT} --config /etc/machine.json --dir /opt/machine'`,
    "",
  ].join("\n");
}

export type Report = Record<"agent" | "server", Record<string, unknown>>;

/** A machine on such a host, and the cloud that it belongs to, on this one. */
export class InstalledMachine {
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
  async reports(
    what: string,
    is: (report: Report) => boolean,
    deadlineMs = DEADLINE_MS,
  ): Promise<Report> {
    let seen: Report | undefined;
    const probe = async () => {
      seen = JSON.parse(await this.computer.ask(`${AGENT} status --json`)).report as Report;
      return seen && is(seen) ? seen : undefined;
    };
    try {
      return await eventually(what, probe, deadlineMs);
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

  /** Starts that systemd made automatically because the service had ended. */
  async restarts(): Promise<number> {
    const log = await this.journal();
    return log.split("\n").filter((line) => line.includes("Scheduled restart job")).length;
  }

  async journal(): Promise<string> {
    return (await this.computer.run(`journalctl --no-pager -o cat -u ${UNIT}`)).stdout;
  }
}

export function sources(name: "machine-agent" | "machine-server"): string {
  return programPath(name, { binaries: undefined }, ROOT);
}

/** The machine's configuration, with the versions that it takes. */
export function withVersions(config: JsonObject): JsonObject {
  const versions = { version_control: { "machine-server": "stable", agent: "stable" } };
  return { ...config, agent: { ...versions, ...config["agent"] as JsonObject } };
}

/** A machine that was installed and runs version 1.0.0 of everything. */
/**
 * @param url that of the test
 * @param config of the machine, on top of what it needs
 * @param packages its apt can install packages
 */
export async function withMachine(
  { url, config = {}, packages = false }: {
    url: string;
    config?: JsonObject;
    packages?: boolean;
  },
  test: (machine: InstalledMachine) => Promise<void>,
): Promise<void> {
  await using rig = await Rig.create();
  await using computer = await SystemdComputer.create({ packages });
  try {
    await computer.boot();
  } catch (error) {
    const reason = await noSystemdBootBecause();
    if (reason === undefined) throw error;
    return tellSkip(url, reason);
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
    ...withVersions(config),
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
