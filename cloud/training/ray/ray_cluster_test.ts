import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { TrainingTask } from "../runs/runner.ts";
import { ClusterRunner, type ClusterRunnerOptions } from "../remote/cluster_runner.ts";
import { RayJobs } from "./ray_jobs.ts";
import { RayCluster } from "./ray_cluster.ts";

/**
 * What the Jobs API of Ray 2.60 does with names: one that is there is refused, and one that was
 * deleted is entered again, as failed, by what watched the job.
 */
function dashboard(submitted: (id: string) => "RUNNING" | "SUCCEEDED") {
  const jobs = new Map<string, string>();
  const details = (id: string) => ({ submission_id: id, status: jobs.get(id) });
  return async (request: Request): Promise<Response> => {
    const [id = "", what] = new URL(request.url).pathname.slice("/api/jobs/".length).split("/");
    if (request.method === "POST" && id === "") {
      const { submission_id } = await request.json() as { submission_id: string };
      if (jobs.has(submission_id)) return new Response("it exists already", { status: 400 });
      jobs.set(submission_id, submitted(submission_id));
      return Response.json({ submission_id });
    }
    if (!jobs.has(id)) return new Response("no such job", { status: 404 });
    if (what === "logs") return Response.json({ logs: "" });
    if (what === "stop") jobs.set(id, "STOPPED");
    if (request.method === "DELETE") jobs.set(id, "FAILED");
    return Response.json(details(id));
  };
}

Deno.test("RayCluster starts a run again whose name the cluster still has", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-ray-" });
  const stop = new AbortController();
  const names: string[] = [];
  const submitted = (id: string) => {
    names.push(id);
    if (names.length > 1) return "SUCCEEDED";
    stop.abort(new Error("the cloud is shutting down"));
    return "RUNNING";
  };
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    dashboard(submitted),
  );
  const nothing = () => Promise.resolve();
  const jobs = new RayJobs({ address: `http://127.0.0.1:${server.addr.port}` });
  const clock = systemClock;
  const runner = new ClusterRunner({
    cluster: new RayCluster({ jobs, clock, resources: { cpus: 1, gpus: 0 } }),
    exchange: {
      open: () =>
        Promise.resolve({ addresses: {}, hasModel: () => Promise.resolve(true), close: nothing }),
    },
    managed: { key: "1", files: { "model/training.py": "" } },
    ...{ dataDir: folder, clock, log: memoryLogger(), cloudUrl: () => "http://cloud.test" },
  } as unknown as ClusterRunnerOptions);
  // One that a cloud stopped as it ended has the number of its attempt again.
  const task: TrainingTask = {
    ...{ jobId: "8c9c4a1e-0000-4000-8000-000000000000", attempt: 1 },
    script: { kind: "managed" },
    ...{ datasetFolder: join(folder, "dataset"), datasetFile: "dataset.jsonl" },
    ...{ outputFolder: join(folder, "output"), arguments: {}, containerVersion: "" },
    environment: {},
  };
  try {
    const output = { line: () => {} };
    assert.deepEqual(await runner.run(task, output, stop.signal), { kind: "aborted" });
    const again = await runner.run(task, output, new AbortController().signal);
    assert.deepEqual(again, { kind: "succeeded" });
    assert.equal(new Set(names).size, 2);
  } finally {
    await runner.close();
    await Deno.remove(folder, { recursive: true });
  }
});
