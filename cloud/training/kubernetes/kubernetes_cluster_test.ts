/** Runs on a cluster that behaves, and on one that does not. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { treeOf } from "../../../shared/transfer/archive/testing.ts";
import { OBEDIENT, scriptOf } from "../runs/scripts_testing.ts";
import { KubernetesRig } from "./kubernetes_testing.ts";

const HELLO = "print('started', flush=True)";

Deno.test("a run on Kubernetes leaves a model, and nothing on the cluster", async () => {
  await using it = await KubernetesRig.open();
  const runner = it.runner();
  const run = await it.start(
    runner,
    "print(open(data).read().strip(), os.environ['API_KEY']); save(text='on kubernetes')",
    { script: scriptOf(OBEDIENT, "custom") },
  );
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  assert.ok(run.has("info {} secret"), run.lines.join("\n"));
  assert.ok(run.has("sending the model"));
  assert.deepEqual(await treeOf(run.task.outputFolder), ["model.tflite"]);
  assert.deepEqual(it.left(), []);
  await runner.close();
});

Deno.test("a run on Kubernetes fails with its exit code and last lines, and stops", async () => {
  await using it = await KubernetesRig.open();
  const runner = it.runner();
  const failed = await it.start(runner, "print('no shapes'); sys.exit(7)");
  const end = await failed.ended;
  assert.ok(end.kind === "failed");
  assert.match(end.reason, /exited with code 7[^]*no shapes/);
  const canceled = await it.start(runner, `${HELLO}; time.sleep(600)`);
  await it.until(() => canceled.has("started"), "the run");
  canceled.cancel();
  assert.deepEqual(await canceled.ended, { kind: "aborted" });
  assert.deepEqual(it.left(), []);
  await runner.close();
});

Deno.test("a run on Kubernetes gives each line once, however often its log and watch are cut", async () => {
  await using it = await KubernetesRig.open();
  const runner = it.runner();
  const run = await it.start(
    runner,
    "[(print(f'line {n}', flush=n % 7 == 0), time.sleep(0.02)) for n in range(400)]; save()",
  );
  for (let cut = 1; cut <= 4; cut++) {
    await it.until(() => run.has(`line ${cut * 60}`), `line ${cut * 60}`);
    it.server.cut();
  }
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  const said = run.lines.filter((line) => /line \d/.test(line));
  assert.deepEqual(said, Array.from({ length: 400 }, (_, n) => `info line ${n}`));
  await runner.close();
});

Deno.test("a run on Kubernetes outlives an API server that is down, busy, and has a new token", async () => {
  await using it = await KubernetesRig.open();
  const { server } = it;
  const runner = it.runner();
  let refused = 0;
  server.instead = (verb) => {
    if (verb !== "create jobs" || ++refused > 2) return undefined;
    return refused === 1
      ? new Response("{}", { status: 429, headers: { "retry-after": "1" } })
      : new Response("etcd", { status: 503 });
  };
  const run = await it.start(runner, `${HELLO}; time.sleep(6); print('ready'); save()`);
  await it.until(() => run.has("started"), "the run");
  assert.ok(run.has("answered 429"), run.lines.join("\n"));
  server.token = crypto.randomUUID();
  await it.until(() => run.has("answered 401"), "a refusal of the old token");
  await server.writeToken();
  await server.down();
  await it.until(() => run.lines.filter((line) => /retrying/.test(line)).length >= 2, "down");
  await server.listen();
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  assert.equal(run.lines.filter((line) => line === "info ready").length, 1);
  assert.deepEqual(it.left(), []);
  await runner.close();
});

Deno.test("a run on Kubernetes gets its Secret also where a quota was in the way", async () => {
  await using it = await KubernetesRig.open();
  const runner = it.runner();
  let asked = 0;
  it.server.instead = (verb) => {
    if (verb !== "create secrets" || ++asked > 1) return undefined;
    const message = 'Operation cannot be fulfilled on resourcequotas "training": modified';
    return Response.json({ message, reason: "Conflict", code: 409 }, { status: 409 });
  };
  const run = await it.start(runner, "print(os.environ['API_KEY']); save()");
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  assert.equal(asked, 2);
  await runner.close();
});

Deno.test("a run on Kubernetes whose pod is evicted starts once more", async () => {
  await using it = await KubernetesRig.open();
  const { cluster } = it.server;
  const runner = it.runner();
  const mark = JSON.stringify(join(it.rig.dataDir, "first-start"));
  const run = await it.start(
    runner,
    `${HELLO}; first = not os.path.exists(${mark}); open(${mark}, "w").close()
time.sleep(600 if first else 0); save()`,
  );
  await it.until(() => run.has("started"), "the run");
  await cluster.end(cluster.pod, { reason: "Evicted", message: "The node was low on memory" });
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  assert.ok(run.has("starting it once more (its pod was evicted by its node: The node was low"));
  assert.deepEqual(it.left(), []);
  await runner.close();
});

Deno.test("a run on Kubernetes whose job somebody deleted ends, and says so", async () => {
  await using it = await KubernetesRig.open();
  const { cluster } = it.server;
  const runner = it.runner();
  const run = await it.start(runner, `${HELLO}; time.sleep(600)`);
  await it.until(() => run.has("started"), "the run");
  for (const name of cluster.objects.jobs.keys()) cluster.delete(name);
  const end = await run.ended;
  assert.ok(end.kind === "failed");
  assert.equal(end.code, Code.Aborted);
  assert.match(end.reason, /was deleted on the Kubernetes cluster by somebody else/);
  await runner.close();
});

Deno.test("a run on Kubernetes that never starts says what it waits for", async () => {
  await using it = await KubernetesRig.open();
  const { cluster } = it.server;
  const runner = it.runner({ wallMs: 10_000 });
  cluster.notStarting = () => ({
    phase: "Pending",
    conditions: [{
      ...{ type: "PodScheduled", status: "False", reason: "Unschedulable" },
      message: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    }],
  });
  const end = await (await it.start(runner, "save()")).ended;
  assert.ok(end.kind === "failed");
  assert.equal(end.code, Code.DeadlineExceeded);
  assert.match(end.reason, /longer than 10 s.*3 Insufficient nvidia.com\/gpu.*--kubernetes-gpus/);
  cluster.refusesPods = 'pods "x" is forbidden: exceeded quota: training';
  const refused = await (await it.start(runner, "save()")).ended;
  assert.ok(refused.kind === "failed");
  assert.match(refused.reason, /exceeded quota: training.*or the quota is raised/);
  assert.deepEqual(it.left(), []);
  await runner.close();
});

Deno.test("a cloud on Kubernetes stops what an earlier one left, and nothing of others", async () => {
  await using it = await KubernetesRig.open();
  const { jobs } = it.server.cluster.objects;
  const killed = it.runner();
  const run = await it.start(killed, `${HELLO}; time.sleep(600)`);
  await it.until(() => run.has("started"), "the run");
  const [mine] = jobs.values();
  assert.ok(mine);
  const others = [
    { name: "somebody-elses", annotations: mine.metadata.annotations ?? {} },
    { name: "machine-training-x", annotations: { "machine-cloud/url": "https://other.example" } },
  ];
  for (const other of others) {
    it.server.cluster.add("jobs", { ...mine, metadata: { ...mine.metadata, ...other } });
  }
  const runner = it.runner();
  await runner.recover();
  assert.deepEqual([...jobs.keys()], others.map(({ name }) => name));
  assert.equal((await run.ended).kind, "failed");
  await killed.close();
  await runner.close();
});
