/** Clusters whose answers are no good: a job of somebody else, a head that was taken over. */
import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ClusterAwayError } from "../remote/cluster.ts";
import { ClusterRunner, type ClusterRunnerOptions } from "../remote/cluster_runner.ts";
import { RayCluster } from "./ray_cluster.ts";
import { RayJobs } from "./ray_jobs.ts";

const ID = "machine-training-1-1-1";

/** A dashboard that answers so, and the requests that it got. */
async function withDashboard(
  answer: (request: Request) => Response,
  work: (jobs: RayJobs, asked: string[]) => Promise<void>,
): Promise<void> {
  const asked: string[] = [];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      asked.push(`${request.method} ${new URL(request.url).pathname}`);
      return answer(request);
    },
  );
  await work(new RayJobs({ address: `http://127.0.0.1:${server.addr.port}` }), asked);
}

Deno.test("RayJobs asks for nothing but jobs, however they are called", () =>
  withDashboard(() => Response.json({ status: "RUNNING" }), async (jobs, asked) => {
    const id = "x/../../../api/serve/applications/?";
    await jobs.find(id);
    await jobs.stop(id);
    await jobs.delete(id);
    const path = `/api/jobs/${encodeURIComponent(id)}`;
    assert.deepEqual(asked, [`GET ${path}`, `POST ${path}/stop`, `DELETE ${path}`]);
  }));

Deno.test("RayJobs takes what fits into a log of what a cluster says of a job", () =>
  withDashboard(
    () => Response.json({ status: "FAILED", message: "x".repeat(1_000_000) }),
    async (jobs) => assert.equal((await jobs.find(ID))?.message?.length, 2_000),
  ));

Deno.test("RayJobs follows no redirect, with its token, to another server", () =>
  withDashboard(() => Response.redirect("http://127.0.0.2:1/"), async (jobs) => {
    await assert.rejects(jobs.find(ID), ClusterAwayError);
  }));

Deno.test("RayJobs says so when what answers is no cluster", () =>
  withDashboard(() => Response.json([{ status: 7 }]), async (jobs) => {
    for (const ask of [() => jobs.list(), () => jobs.find(ID), () => jobs.logs(ID)]) {
      await assert.rejects(ask, (error) => {
        assert.ok(error instanceof ClusterAwayError);
        assert.match(error.message, /is no dashboard of Ray/);
        return true;
      });
    }
  }));

Deno.test("RayJobs reads no answer without end", () => {
  const piece = new Uint8Array(1_048_576).fill(0x20);
  let sent = 0;
  const endless = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += piece.length;
          controller.enqueue(piece);
        },
      }),
    );
  return withDashboard(endless, async (jobs) => {
    await assert.rejects(jobs.logs(ID), /more than 67108864 bytes/);
    assert.ok(sent < 200 * 2 ** 20, `${sent} bytes were sent`);
  });
});

Deno.test("RayCluster stops only jobs that a cloud named, whatever others say of theirs", async () => {
  const cloudUrl = "http://cloud.test";
  const mine = new Map([[ID, "RUNNING"]]);
  const listed = (id: string) => ({
    ...{ submission_id: id, status: mine.get(id) ?? "RUNNING" },
    metadata: { machine_cloud: cloudUrl },
  });
  const answer = (request: Request) => {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("/jobs/")) {
      return Response.json(["..", "raysubmit_of_somebody", `${ID}/../x`, ID].map(listed));
    }
    if (pathname.endsWith("/stop")) mine.set(ID, "STOPPED");
    return Response.json(listed(ID));
  };
  const dataDir = await Deno.makeTempDir();
  try {
    await withDashboard(answer, async (jobs, asked) => {
      const log = memoryLogger();
      const clock = systemClock;
      const runner = new ClusterRunner({
        ...{ dataDir, log, clock, cloudUrl: () => cloudUrl },
        cluster: new RayCluster({ jobs, clock, resources: { cpus: 1, gpus: 0 } }),
      } as unknown as ClusterRunnerOptions);
      await runner.recover();
      const path = `/api/jobs/${ID}`;
      assert.deepEqual(asked, [
        ...["GET /api/jobs/", `GET ${path}`, `POST ${path}/stop`, `GET ${path}`, `DELETE ${path}`],
      ]);
      assert.match(log.text(), /stopped jobs on the Ray cluster/);
      await runner.close();
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
