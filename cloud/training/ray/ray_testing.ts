/** For tests: what a dashboard of Ray 2.60 does with jobs, and a runner that uses it. */
import { join } from "node:path";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { ClusterRunner, type ClusterRunnerOptions } from "../remote/cluster_runner.ts";
import type { RunLimits } from "../runs/limits.ts";
import type { TaskEnd, TrainingTask } from "../runs/runner.ts";
import { RayCluster } from "./ray_cluster.ts";
import { RayJobs } from "./ray_jobs.ts";

/** By its head, of what an agent answered. */
const REFUSED = "RuntimeError: Request failed with status code 400: it exists already.";

/** What Ray says of a job. */
export interface TestJob {
  readonly status: "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "STOPPED";
  readonly error_type?: string;
  readonly message?: string;
  readonly driver_exit_code?: number;
}

export class RayRig implements AsyncDisposable {
  readonly clock = new FakeClock();
  /** By id; all that were submitted. */
  readonly jobs = new Map<string, TestJob>();
  readonly lines: string[] = [];
  /** Requests that were answered. */
  readonly asked: string[] = [];
  /** What a job is when it was submitted; the first one is 1. */
  submitted: (number: number) => TestJob = () => ({ status: "SUCCEEDED" });
  /** An answer in place of the usual one. */
  instead: (request: string) => Response | undefined = () => undefined;
  readonly #port = freePort();
  readonly #runner: ClusterRunner;
  #server: Deno.HttpServer | undefined;

  private constructor(private readonly folder: string, limits: Partial<RunLimits>) {
    const jobs = new RayJobs({ address: `http://127.0.0.1:${this.#port}` });
    const { clock } = this;
    const nothing = () => Promise.resolve();
    this.#runner = new ClusterRunner({
      cluster: new RayCluster({ jobs, clock, resources: { cpus: 1, gpus: 0 } }),
      exchange: {
        open: () =>
          Promise.resolve({ addresses: {}, hasModel: () => Promise.resolve(true), close: nothing }),
      },
      managed: { key: "1", files: { "model/training.py": "" } },
      ...{ dataDir: folder, clock, limits, log: memoryLogger() },
      cloudUrl: () => "http://cloud.test",
    } as unknown as ClusterRunnerOptions);
  }

  static async open(limits: Partial<RunLimits> = {}): Promise<RayRig> {
    const rig = new RayRig(await Deno.makeTempDir({ prefix: "machine-ray-" }), limits);
    rig.listen();
    return rig;
  }

  listen(): void {
    const options = { port: this.#port, hostname: "127.0.0.1", onListen() {} };
    this.#server = Deno.serve(options, (request) => this.#answer(request));
  }

  async down(): Promise<void> {
    await this.#server?.shutdown();
    this.#server = undefined;
  }

  /** Runs a script to its end, while time goes by in steps. */
  async run(signal = new AbortController().signal, stepMs = 250): Promise<TaskEnd> {
    const task: TrainingTask = {
      ...{ jobId: "8c9c4a1e-0000-4000-8000-000000000000", attempt: 1 },
      script: { kind: "managed" },
      ...{ datasetFolder: join(this.folder, "dataset"), datasetFile: "dataset.jsonl" },
      ...{ outputFolder: join(this.folder, "output"), arguments: {}, containerVersion: "" },
      environment: {},
    };
    let hasEnded = false;
    const output = {
      line: (level: string, text: string) => void this.lines.push(`${level} ${text}`),
    };
    const running = this.#runner.run(task, output, signal).finally(() => hasEnded = true);
    while (!hasEnded) {
      await this.clock.advance(stepMs);
      await systemClock.sleep(1);
    }
    return await running;
  }

  /** How many lines have a text. */
  count(text: string): number {
    return this.lines.filter((line) => line.includes(text)).length;
  }

  /** One that is there is refused; one that was deleted is entered again by what watched the job. */
  async #answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.slice("/api/jobs/".length);
    const [id = "", what = ""] = path.split("/");
    const name = `${request.method} ${id === "" ? "" : "ID"}${what && `/${what}`}`;
    this.asked.push(name);
    const instead = this.instead(name);
    if (instead) return instead;
    if (request.method === "POST" && id === "") {
      const { submission_id } = await request.json() as { submission_id: string };
      if (this.jobs.has(submission_id)) return new Response(REFUSED, { status: 500 });
      this.jobs.set(submission_id, this.submitted(this.jobs.size + 1));
      return Response.json({ submission_id });
    }
    const job = this.jobs.get(id);
    if (!job) return new Response("no such job", { status: 404 });
    if (what === "logs") return Response.json({ logs: "" });
    if (what === "stop") this.jobs.set(id, { status: "STOPPED" });
    if (request.method === "DELETE") this.jobs.set(id, { status: "FAILED" });
    return Response.json({ submission_id: id, ...job });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runner.close();
    await this.down();
    await Deno.remove(this.folder, { recursive: true });
  }
}
