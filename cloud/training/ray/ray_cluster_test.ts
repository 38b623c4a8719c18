/** Runs on a Ray cluster that loses workers, forgets to end, and does not always answer. */
import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { RayRig } from "./ray_testing.ts";

Deno.test("RayCluster starts a run again whose name the cluster still has", async () => {
  await using ray = await RayRig.open();
  const stop = new AbortController();
  ray.submitted = (number) => {
    if (number > 1) return { status: "SUCCEEDED" };
    stop.abort(new Error("the cloud is shutting down"));
    return { status: "RUNNING" };
  };
  // One that a cloud stopped as it ended has the number of its attempt again.
  assert.deepEqual(await ray.run(stop.signal), { kind: "aborted" });
  assert.deepEqual(await ray.run(), { kind: "succeeded" });
  assert.equal(ray.jobs.size, 2);
});

Deno.test("a run on Ray outlives a dashboard that is away, and one that has trouble", async () => {
  await using ray = await RayRig.open();
  ray.submitted = () => ({ status: "RUNNING" });
  let looks = 0;
  let submits = 0;
  ray.instead = (request) => {
    if (request === "POST ") {
      return ++submits <= 2
        ? new Response("No available agent to submit job, please try again later.", { status: 500 })
        : undefined;
    }
    if (request !== "GET ID" || submits < 3) return undefined;
    looks++;
    if (looks === 2) return new Response("Traceback: GCS is unavailable", { status: 500 });
    if (looks === 4) void ray.down().then(() => setTimeout(() => ray.listen(), 100));
    for (const id of ray.jobs.keys()) if (looks === 6) ray.jobs.set(id, { status: "SUCCEEDED" });
    return undefined;
  };
  assert.deepEqual(await ray.run(), { kind: "succeeded" }, ray.lines.join("\n"));
  assert.equal(ray.jobs.size, 1, "it was submitted once");
  for (const said of [/answered 500: No available agent.*; retrying/, /answered 500: Traceback/]) {
    assert.match(ray.lines.join("\n"), said);
  }
  assert.match(ray.lines.join("\n"), /does not answer: .*; retrying/);
});

Deno.test("a run on Ray is lost with a head that is gone for good, and says so", async () => {
  await using ray = await RayRig.open();
  ray.submitted = () => {
    setTimeout(() => ray.down(), 50);
    return { status: "RUNNING" };
  };
  const beganMs = ray.clock.monotonicMs();
  const end = await ray.run(undefined, 5_000);
  assert.ok(end.kind === "failed" && end.code === Code.Unavailable, JSON.stringify(end));
  assert.match(end.reason, /^Ray at http.* does not answer/);
  const minutes = (ray.clock.monotonicMs() - beganMs) / 60_000;
  assert.ok(minutes >= 10, `it was cancelled after ${minutes} minutes`);
  assert.equal(ray.count("the Ray cluster lost the run; starting it once more"), 1);
});

Deno.test("a run on Ray starts once more when the job that was not found has stopped", async () => {
  await using ray = await RayRig.open();
  const beganMs = ray.clock.monotonicMs();
  ray.instead = (request) =>
    request === "GET ID" && ray.clock.monotonicMs() - beganMs < 7 * 60_000
      ? new Response("Traceback: no agent", { status: 500 })
      : undefined;
  const others: string[][] = [];
  ray.submitted = (number) => {
    others.push([...ray.jobs.values()].map(({ status }) => status));
    return { status: number === 1 ? "RUNNING" : "SUCCEEDED" };
  };
  assert.deepEqual(await ray.run(undefined, 1_000), { kind: "succeeded" }, ray.lines.join("\n"));
  assert.equal(others.length, 2);
  assert.ok(!others[1]?.includes("RUNNING"), "no two jobs of one run at a time");
});

Deno.test("a run on Ray whose worker is lost starts again, three times at most", async () => {
  const died = {
    status: "FAILED",
    error_type: "JOB_SUPERVISOR_ACTOR_DIED",
    message: "Job supervisor actor died: its node has died",
  } as const;
  await using ray = await RayRig.open();
  ray.submitted = (number) => number === 1 ? died : { status: "SUCCEEDED" };
  assert.deepEqual(await ray.run(), { kind: "succeeded" });
  assert.equal(ray.count("starting it once more (Job supervisor actor died: its node"), 1);
  ray.submitted = () => died;
  const end = await ray.run();
  assert.ok(end.kind === "failed" && end.code === Code.Aborted, JSON.stringify(end));
  assert.match(end.reason, /lost the run 3 times: Job supervisor actor died: its node has died/);
  assert.equal(ray.jobs.size, 5);
});

Deno.test("a run on Ray that an agent of the cluster refuses fails at once", async () => {
  await using ray = await RayRig.open();
  const refused = "RuntimeError: Request failed with status code 400: no such field.";
  ray.instead = (request) =>
    request === "POST " ? new Response(`Traceback:\n${refused}`, { status: 500 }) : undefined;
  const end = await ray.run();
  assert.ok(end.kind === "failed" && end.code === Code.FailedPrecondition, JSON.stringify(end));
  assert.match(end.reason, /no such field/);
  assert.equal(ray.count("retrying"), 0);
});

Deno.test("a run on Ray whose script was killed fails with that", async () => {
  await using ray = await RayRig.open();
  ray.submitted = () => ({
    ...{ status: "FAILED", driver_exit_code: -9, message: "exit code -9" },
    error_type: "JOB_ENTRYPOINT_COMMAND_ERROR",
  });
  const end = await ray.run();
  assert.ok(end.kind === "failed");
  assert.match(end.reason, /^the script was killed \(SIGKILL\)/);
  assert.equal(ray.jobs.size, 1);
});

Deno.test("a run on Ray that never ends is ended by its limit, on the cluster too", async () => {
  await using ray = await RayRig.open({ wallMs: 60_000 });
  ray.submitted = () => ({ status: "RUNNING" });
  const end = await ray.run();
  assert.ok(end.kind === "failed" && end.code === Code.DeadlineExceeded, JSON.stringify(end));
  assert.match(end.reason, /took longer than 1 min, the limit of this cloud, and was terminated/);
  assert.ok(ray.asked.includes("POST ID/stop"));
  assert.equal(ray.asked.at(-1), "DELETE ID");
});

Deno.test("a run on Ray waits longer than Ray itself lets it, up to its limit", async () => {
  await using ray = await RayRig.open({ wallMs: 120_000 });
  const waited = {
    status: "FAILED",
    error_type: "JOB_SUPERVISOR_ACTOR_START_TIMEOUT",
    message: "Job supervisor actor failed to start within 900.0 seconds.",
  } as const;
  ray.submitted = (number) => number <= 4 ? waited : { status: "SUCCEEDED" };
  assert.deepEqual(await ray.run(), { kind: "succeeded" });
  assert.equal(ray.count("900.0 seconds.; submitting the run once more"), 4);
  ray.submitted = () => ({ status: "PENDING" });
  const end = await ray.run();
  assert.ok(end.kind === "failed" && end.code === Code.DeadlineExceeded);
  assert.match(end.reason, /it was waiting for the Ray cluster/);
});
