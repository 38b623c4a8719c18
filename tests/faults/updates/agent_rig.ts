/** A machine whose agent runs as it is installed: launcher, start guard, link, cache. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { guardFiles } from "../../../agent/updates/guard/trial_file.ts";
import type { Target } from "../../../agent/updates/updater/target.ts";
import { removeIfExists } from "../../../shared/base/files/atomic_write.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import type { ChildOptions } from "./child.ts";
import { childProgram, Rig } from "./rig.ts";
import { runToEnd } from "../../e2e/run_to_end.ts";

const GUARD = new URL("../../../agent/updates/guard/", import.meta.url).pathname;
/** A version starts up to six times in one launch; each start of Deno may wait for a busy host. */
const DEADLINE_MS = 120_000;

/** What the script of an agent's version does in addition to what an agent does. */
export interface AgentVersion extends Partial<ChildOptions> {
  /** Shell text that comes first. */
  readonly script?: string;
}

/** What an agent reported when it ended in order. */
export interface Said {
  readonly version: string;
  readonly code: number;
  readonly serving: string | undefined;
  readonly server: { readonly state: string; readonly installed: string };
  readonly agent: {
    readonly state: string;
    readonly installed: string;
    readonly previous: string;
    readonly bad: readonly string[];
    /** Of the last rollback. */
    readonly reason?: string;
  };
}

export interface Launch {
  /** Kills the agent of this version at this pass of a fault point, once. */
  readonly kill?: KillPoint;
  /** Collects the passes of each run in files of this name and the version, `TRACE-B`. */
  readonly trace?: string;
}

export interface KillPoint {
  readonly version: string;
  readonly point: string;
  /** Not before this version has run. */
  readonly after?: string;
}

/** The machine of {@link Rig} with an agent that can be exchanged. */
export class AgentRig implements AsyncDisposable {
  readonly #boots: { count: number } = { count: 1 };

  private constructor(readonly rig: Rig, readonly server: Target) {}

  /** Version A of the agent runs a server S, and both stand still. */
  static async create(): Promise<AgentRig> {
    const rig = await Rig.create();
    const server = await rig.version("S", "serves");
    const made = new AgentRig(rig, server);
    await made.#install();
    return made;
  }

  get dir(): string {
    return this.rig.dir;
  }

  /** Writes a version of the agent, which wants `wanted`. */
  async version(
    name: string,
    wanted: Target | undefined,
    { script = "", ...options }: AgentVersion = {},
  ): Promise<Target> {
    const path = join(this.rig.root, `agent-${name}.sh`);
    const json = JSON.stringify({
      dir: this.dir,
      version: name,
      server: this.server,
      ...(wanted ? { agent: wanted } : {}),
      ...options,
    });
    const child = [Deno.execPath(), ...await childProgram()].map((word) => `"${word}"`).join(" ");
    // When it is killed the power goes: its launcher dies with it.
    const text = `#!/bin/sh
${script}
touch "${this.rig.root}/ran-${name}"
if [ "\${FAULT_VERSION:-}" = ${name} ] && [ -e "$FAULT_ONCE" ] &&
  [ -e "${this.rig.root}/ran-\${FAULT_AFTER:-${name}}" ]; then
  rm "$FAULT_ONCE"
else
  unset MACHINE_FAULT_POINT
fi
if [ -n "\${TRACE:-}" ]; then
  again=; [ ! -e "$TRACE-${name}" ] || again=-again
  export MACHINE_FAULT_TRACE="$TRACE-${name}$again"
fi
[ -n "\${FAULT_VERSION:-}" ] ||
  exec ${child} '${json}'
${child} '${json}'
code=$?
[ $code -ne 137 ] || kill -KILL $PPID
exit $code
`;
    await Deno.writeTextFile(path, text, { mode: 0o755 });
    return { version: name, url: pathToFileURL(path).href, sha256: "" };
  }

  /**
   * Runs the launcher until it ends. The host has a new boot number each time.
   *
   * @returns undefined when it was killed.
   */
  async launch({ kill, trace }: Launch = {}): Promise<readonly Said[] | undefined> {
    const once = join(this.rig.root, "fault-once");
    if (kill) {
      await Deno.writeTextFile(once, "");
      for (const name of ["A", "B"]) await removeIfExists(join(this.rig.root, `ran-${name}`));
    }
    return await this.#run({
      FAULT_ONCE: once,
      ...(kill ? { FAULT_VERSION: kill.version, MACHINE_FAULT_POINT: kill.point } : {}),
      ...(kill?.after === undefined ? {} : { FAULT_AFTER: kill.after }),
      ...(trace === undefined ? {} : { TRACE: trace }),
    }, kill !== undefined);
  }

  /** Runs the launcher and cuts the power after so long. */
  async killedLaunch(afterMs: number): Promise<void> {
    const launched = systemProcesses().start({
      program: guardFiles(this.dir).launcher,
      env: { ...await this.#boot(), FAULT_ONCE: "/nowhere" },
      onLine: () => {},
    });
    await systemClock.sleep(afterMs);
    await launched.kill();
  }

  /** Runs the launcher until an agent stands still. @returns its version. */
  async launchUntilSettled(): Promise<string> {
    const said = await this.#run({ FAULT_ONCE: "/nowhere", SETTLES: "1" }, false);
    const last = said?.at(-1);
    assert.equal(last?.serving, "S");
    return last?.version ?? "";
  }

  async #run(
    env: Readonly<Record<string, string>>,
    mayBeKilled: boolean,
  ): Promise<readonly Said[] | undefined> {
    const { code, signal, stdout, stderr } = await runToEnd(guardFiles(this.dir).launcher, {
      env: { ...await this.#boot(), ...env },
      clearEnv: true,
      limitMs: DEADLINE_MS,
    });
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    if (signal === "SIGKILL" && mayBeKilled) return undefined;
    assert.equal(code, 0, `${text(stdout)}\n${text(stderr)}`);
    return text(stdout).trim().split("\n").map((line) => JSON.parse(line) as Said);
  }

  /** The host is switched on: what programs find in their environment. */
  async #boot(): Promise<Record<string, string>> {
    const proc = join(this.rig.root, "proc");
    await Deno.mkdir(join(proc, "sys/kernel/random"), { recursive: true });
    await removeIfExists(join(proc, "uptime"));
    await Deno.symlink("/proc/uptime", join(proc, "uptime"));
    const boot = `boot-${this.#boots.count++}\n`;
    await Deno.writeTextFile(join(proc, "sys/kernel/random/boot_id"), boot);
    return {
      PATH: "/usr/bin:/bin",
      NO_COLOR: "1",
      MACHINE_GUARD_PROC: proc,
      ...inherited("HOME", "DENO_DIR"),
    };
  }

  async #install(): Promise<void> {
    const { dir } = this;
    const files = guardFiles(dir);
    for (const folder of ["bin", "cache", "etc"]) {
      await Deno.mkdir(join(dir, folder), { recursive: true });
    }
    await Deno.copyFile(join(GUARD, "start_guard.sh"), files.guard);
    await Deno.copyFile(join(GUARD, "launcher.sh"), files.launcher);
    const a = await this.version("A", undefined);
    const cached = join(dir, "cache", "machine-agent-A-000000000000");
    await Deno.writeTextFile(cached, `#!/bin/sh\nexec '${new URL(a.url).pathname}' "$@"\n`, {
      mode: 0o755,
    });
    await Deno.symlink(cached, files.link);
    const said = await this.launch();
    assert.equal(said?.at(-1)?.serving, "S");
    await this.rig.remember();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}

function inherited(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}
