/** Folders of machines to be killed, and what must hold whenever one has been. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { SnapshotState } from "../../../agent/updates/updater/snapshot.ts";
import type { Target } from "../../../agent/updates/updater/target.ts";
import { bundledChild } from "../../../shared/base/faults/child_bundles_testing.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { connect } from "../../../shared/base/store/connect.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { ChildOptions } from "./child.ts";
import { type Machine, type MachineOptions, shortStatus, startMachine } from "./machine.ts";
import { Answering, type Behaviour, makeVersion, prepareHome } from "./versions.ts";
import { runToEnd } from "../../e2e/run_to_end.ts";

const FOLDER = new URL("./", import.meta.url).pathname;
const DEADLINE_MS = 60_000;

/** Arguments of Deno, without {@link ChildOptions}, that run an agent. */
export async function childProgram(): Promise<string[]> {
  return await bundledChild(await Deno.readTextFile(join(FOLDER, "child.ts")), FOLDER);
}

/** How a child of a test ended. */
export interface ChildEnd {
  readonly code: number;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A machine's folder, brought back to the same beginning for each row of a table. */
export class Rig implements AsyncDisposable {
  readonly dir: string;
  /** For what is no part of the machine. */
  readonly root: string;
  readonly #answering = new Answering();

  private constructor(root: string, dir: string) {
    this.root = root;
    this.dir = dir;
  }

  /** @param dir the machine's folder, when it shall lie on a disk of its own. */
  static async create(dir?: string): Promise<Rig> {
    const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "updates-" }));
    const rig = new Rig(root, dir ?? join(root, "machine"));
    await prepareHome(rig.dir);
    return rig;
  }

  version(name: string, behaviour: Behaviour): Promise<Target> {
    return makeVersion(join(this.root, "versions"), name, behaviour, this.#answering.url);
  }

  start(options: Omit<MachineOptions, "dir"> = {}): Promise<Machine> {
    return startMachine({ dir: this.dir, ...options });
  }

  /** Installs a version; every row begins with this. */
  async install(server: Target): Promise<void> {
    const machine = await this.start({ server });
    await settled(machine, server.version);
    await machine.stop();
  }

  /** What {@link reset} comes back to. */
  async remember(): Promise<void> {
    await run("cp", "-a", this.dir, join(this.root, "beginning"));
  }

  async reset(): Promise<void> {
    await run("rm", "-rf", this.dir);
    await run("cp", "-a", join(this.root, "beginning"), this.dir);
  }

  /** Runs an agent as a process of its own, until it ends or dies at a fault point. */
  async child(
    options: Omit<MachineOptions, "dir">,
    env: Readonly<Record<string, string>> = {},
  ): Promise<ChildEnd> {
    const { code, signal, stdout, stderr } = await runToEnd(Deno.execPath(), {
      args: [...await childProgram(), JSON.stringify({ dir: this.dir, ...options })],
      env: { ...env, NO_COLOR: "1" },
    });
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, signal, stdout: text(stdout), stderr: text(stderr) };
  }

  /** Runs an agent as a process of its own that is killed after so long; its servers stay. */
  async killedChild(options: Partial<ChildOptions>, afterMs: number): Promise<void> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...await childProgram(), JSON.stringify({ dir: this.dir, ...options })],
      stdout: "null",
      stderr: "null",
    }).spawn();
    await systemClock.sleep(afterMs);
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await child.status;
  }

  /** Fault points that a run passes, in order, each with its number: `files.write.before-fsync#2`. */
  async rehearse(options: Omit<MachineOptions, "dir">): Promise<string[]> {
    const trace = join(this.root, "trace");
    await Deno.remove(trace).catch(() => {}); // of the rehearsal before
    const end = await this.child(options, { MACHINE_FAULT_TRACE: trace });
    assert.equal(end.code, 0, end.stderr);
    return numbered(await Deno.readTextFile(trace));
  }

  /** What the agent had started dies with it, as when the power goes. */
  async killServers(): Promise<void> {
    const tree = this.tree();
    await systemProcesses().endStray({ pid: -1, started: "", tree }, { graceMs: 0 });
  }

  /** The mark of all servers of this machine. */
  tree(): string {
    // Read as it is: the schema may be that of any version.
    const db = connect(join(this.dir, "agent.db"), undefined, false);
    try {
      return db.prepare<[], string>("SELECT tree FROM server_process").pluck().get() ?? "-";
    } catch {
      return "-"; // Killed before there was a table, so before anything was started.
    } finally {
      db.close();
    }
  }

  /** The link leads to a program at any moment. */
  async assertLinked(program = "machine-server"): Promise<string> {
    const path = await Deno.readLink(join(this.dir, "bin", program));
    const { isFile, mode } = await Deno.stat(path);
    assert(isFile && ((mode ?? 0) & 0o111) !== 0, `${path} can be started`);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#answering[Symbol.dispose]();
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Waits until a machine stands still and serves; with a name and a state, until it is those. */
export async function settled(
  machine: Machine,
  version?: string,
  state?: SnapshotState,
): Promise<string> {
  const still = ["idle", "refused", "failed"];
  const isSettled = () => {
    const { serving, server, agent } = shortStatus(machine);
    if (serving === undefined || !still.includes(server.state)) return undefined;
    if (server.installed.split("+")[0] !== serving || !still.includes(agent.state)) {
      return undefined;
    }
    if (state !== undefined && state !== server.state) return undefined;
    return version === undefined || version === serving ? serving : undefined;
  };
  try {
    return await waitFor(isSettled, { deadlineMs: DEADLINE_MS, what: `${version ?? "any"} runs` });
  } catch (error) {
    throw new Error(`${JSON.stringify(shortStatus(machine))}\n${logOf(machine)}`, { cause: error });
  }
}

/** The passes in a trace: `files.write.before-fsync#2`. */
export function numbered(trace: string): string[] {
  const passes = new Map<string, number>();
  return trace.trim().split("\n").map((name) => {
    const pass = (passes.get(name) ?? 0) + 1;
    passes.set(name, pass);
    return `${name}#${pass}`;
  });
}

export function logOf({ log }: Machine): string {
  if (!("entries" in log) || !Array.isArray(log.entries)) return "";
  return log.entries.map(({ level, message, fields }) =>
    `${level} ${message} ${JSON.stringify(fields)}`
  ).join("\n");
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await runToEnd(program, { args, stdout: "null" });
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
}
