import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { noPythonPackagesBecause } from "../../shared/test_tools/probes.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ROOT } from "../../tools/programs.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

const VERSION = "2.60.0";
const START_MS = 300_000;
/** By its own limits a head drops parts of itself that answer late on a busy host, and ends. */
const PATIENT = {
  RAY_USAGE_STATS_ENABLED: "0",
  RAY_agent_register_timeout_ms: "300000",
  RAY_health_check_timeout_ms: "60000",
  RAY_health_check_failure_threshold: "20",
};

/**
 * Installs Ray once for this clone.
 *
 * @returns the path of its Python; or why there is none, as no libraries can be installed here
 */
export async function rayPython(): Promise<{ path: string } | string> {
  const requirements = join(ROOT, "tools", "ray_requirements.txt");
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: [join(ROOT, "tools", "python_environment.sh"), "ray", VERSION, requirements],
  }).output();
  if (success) {
    const path = new TextDecoder().decode(stdout).trim();
    // It was moved to its place; Ray makes others of it by what its scripts say of where it is.
    const again = ["-m", "venv", "--without-pip", dirname(dirname(path))];
    const made = await new Deno.Command("python3", { args: again }).output();
    assert.ok(made.success, new TextDecoder().decode(made.stderr));
    return { path };
  }
  const reason = await noPythonPackagesBecause();
  if (reason !== undefined) return reason;
  throw new Error(new TextDecoder().decode(stderr).trim());
}

/** A Ray cluster of one head, on free ports, with its files in a folder of its own. */
export class RayCluster implements AsyncDisposable {
  readonly #port = freePort();
  readonly #dashboard = freePort();
  #head: Deno.ChildProcess | undefined;

  private constructor(private readonly python: string, private readonly folder: string) {}

  static async start(python: string): Promise<RayCluster> {
    // Paths of sockets have 107 bytes at most.
    const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "ray-" });
    const cluster = new RayCluster(python, folder);
    await cluster.startHead();
    return cluster;
  }

  get address(): string {
    return `http://127.0.0.1:${this.#dashboard}`;
  }

  async startHead(): Promise<void> {
    const log = join(this.folder, "head.log");
    this.#head = new Deno.Command("sh", {
      args: [
        ...["-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "sh", log],
        ...[this.python, "-m", "ray.scripts.scripts", "start", "--head", "--block"],
        ...["--disable-usage-stats", "--node-ip-address", "127.0.0.1"],
        ...["--port", String(this.#port), "--min-worker-port", "0", "--max-worker-port", "0"],
        ...["--dashboard-host", "127.0.0.1", "--dashboard-port", String(this.#dashboard)],
        ...["--dashboard-agent-listen-port", String(freePort()), "--num-cpus", "2"],
        ...["--temp-dir", join(this.folder, "ray"), "--object-store-memory", "100000000"],
      ],
      env: { ...PATIENT, PATH: `${dirname(this.python)}:/usr/bin:/bin` },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const answers = async () => {
      const answer = await fetch(`${this.address}/api/jobs/`).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.ok ?? false;
    };
    try {
      await waitFor(answers, { deadlineMs: START_MS, what: "the Ray cluster", everyMs: 200 });
    } catch (error) {
      throw new Error(await Deno.readTextFile(log), { cause: error });
    }
  }

  /** As a power cut does: nothing of the cluster is left. */
  async kill(): Promise<void> {
    const head = this.#head;
    this.#head = undefined;
    if (!head) return;
    const tree = await treeOf(head.pid);
    for (const pid of tree) {
      try {
        Deno.kill(pid, "SIGKILL");
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    await head.status;
  }

  /** Jobs that run, and such whose environment Ray still has. */
  async jobs(): Promise<unknown[]> {
    const answer = await fetch(`${this.address}/api/jobs/`);
    assert.ok(answer.ok);
    const jobs = await answer.json() as { status: string; runtime_env: unknown }[];
    return jobs.filter(({ status, runtime_env }) => runtime_env || status === "RUNNING");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** A process and all below it. */
async function treeOf(pid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    if (parent) parents.set(Number(name), parent);
  }
  const found = [pid];
  for (let at = 0; at < found.length; at++) {
    for (const [child, parent] of parents) if (parent === found[at]) found.push(child);
  }
  return found;
}
