// Runs scripts on a real Ray cluster: `make test-training` runs it and `make test` does not. The
// first run installs Ray, 380 MB, into .tools/ray.
import assert from "node:assert/strict";
import {
  MLTrainingService,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { eventually } from "../e2e/rig.ts";
import { ClusterRig, INSTALL_MS } from "./cluster_rig.ts";
import { RayCluster, rayPython } from "./ray_cluster.ts";

const python = await rayPython();
const ignore = ignoreBecause(
  import.meta.url,
  typeof python === "string" ? `Ray cannot run here: ${python}` : undefined,
);

function options(cluster: RayCluster): string[] {
  return [
    ...["--training-runner", "ray", "--ray-address", cluster.address],
    ...["--training-memory", "2048"],
  ];
}

async function startCluster(): Promise<RayCluster> {
  assert.ok(typeof python !== "string");
  return await RayCluster.start(python.path);
}

Deno.test({ name: "scripts run as jobs of a Ray cluster", ignore }, async (test) => {
  await using cluster = await startCluster();
  await using it = await ClusterRig.open(options(cluster));
  const { client } = await it.rig.cloud();

  await test.step("one leaves a model, which is a package afterwards", async () => {
    const id = await it.submit(
      "print('epoch 1'); print(len(open(data).readlines()), 'lines'); save(text='on ray')",
    );
    const job = await it.ends(id);
    const log = await it.log(id);
    assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
    assert.match(log, /submitted to the Ray cluster[^]*epoch 1\n1 lines[^]*sending the model/);
    const { packages } = await client(PackageService).listPackages({
      organizationId: it.rig.bootstrapped.org_id,
      type: PackageType.ML_MODEL,
    });
    assert.deepEqual(packages.map(({ info }) => info?.version), ["1"]);
    assert.deepEqual(await cluster.jobs(), [], "the cluster keeps no job, whose key is in it");
  });

  await test.step("one fails with its exit code and last lines", async () => {
    const id = await it.submit("print('no shapes in the pictures'); sys.exit(7)");
    const job = await it.ends(id);
    assert.equal(job.status, TrainingStatus.FAILED);
    assert.match(job.errorStatus?.message ?? "", /no shapes in the pictures[^]*code 7/);
  });

  await test.step("one leaves nothing", async () => {
    const job = await it.ends(await it.submit("print('nothing to do')"));
    assert.equal(job.status, TrainingStatus.FAILED);
    assert.match(job.errorStatus?.message ?? "", /left no file in the folder of/);
  });

  await test.step("one is canceled while it runs, and ends on the cluster", async () => {
    const id = await it.submit("print('started', flush=True); time.sleep(600)");
    await it.prints(id, "started\n".trim());
    await client(MLTrainingService).cancelTrainingJob({ id });
    assert.equal((await it.ends(id)).status, TrainingStatus.CANCELED);
    await eventually("no job is left", async () => (await cluster.jobs()).length === 0);
  });

  await test.step("its files open with the key of the job alone, while it runs", async () => {
    const id = await it.submit("print('started', flush=True); time.sleep(600)");
    await it.prints(id, "the run has started");
    const { api_key_id: key_id, api_key: key } = it.rig.bootstrapped;
    const url = `${it.rig.cloudUrl}/training-runs/${id}/script.tar.gz`;
    for (const headers of [{}, { key_id, key }, { key_id, key: "wrong" }]) {
      const answer = await fetch(url, { headers });
      assert.ok([401, 403].includes(answer.status), `${answer.status}`);
      await answer.body?.cancel();
    }
    await client(MLTrainingService).cancelTrainingJob({ id });
    await it.ends(id);
  });

  await test.step("a cluster that loses its head gets the run again", async () => {
    const code = "print('started', flush=True); time.sleep(5); save()";
    const id = await it.submit(code);
    await it.prints(id, "started\n".trim());
    await cluster.kill();
    await cluster.startHead();
    const job = await it.ends(id);
    const log = await it.log(id);
    assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
    assert.match(log, /the Ray cluster lost the run; starting it once more/);
  });

  await test.step("a cloud that is killed ends what it left there, and runs the job again", async () => {
    const id = await it.submit("print('started', flush=True); time.sleep(8); save()");
    await it.prints(id, "the run has started");
    const [cloud] = it.rig.programs;
    cloud?.signal("SIGKILL");
    await cloud?.exited;
    await it.rig.startCloud(options(cluster));
    const job = await it.ends(id);
    const log = await it.log(id);
    assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
    assert.match(log, /the cloud was cut while this ran/);
    assert.deepEqual(await cluster.jobs(), []);
  });
});

Deno.test({
  name: "managed training runs on a Ray cluster, which installs what it requires",
  ignore,
}, async () => {
  await using cluster = await startCluster();
  await using it = await ClusterRig.open(options(cluster));
  const id = await it.submitManaged();
  const job = await it.ends(id, INSTALL_MS);
  const log = await it.log(id);
  assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
  assert.match(log, /epoch 1\/\d+ loss/);
});
