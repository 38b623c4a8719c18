// A cloud trains on Kubernetes: a stand-in for the API server checks each object by the published
// schemas, and runs containers as processes. `make test-training` runs it and `make test` does not.
import assert from "node:assert/strict";
import {
  MLTrainingService,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { eventually } from "../e2e/rig.ts";
import { ClusterRig, INSTALL_MS } from "./cluster_rig.ts";
import { left, noServer, options, startServer } from "./kubernetes_server.ts";

const ignore = ignoreBecause(import.meta.url, noServer);

Deno.test({ name: "scripts run as Jobs of a Kubernetes cluster", ignore }, async (test) => {
  await using server = await startServer();
  await using it = await ClusterRig.open(options(server));
  const { client } = await it.rig.cloud();

  await test.step("one leaves a model, which is a package afterwards", async () => {
    const id = await it.submit(
      "print('epoch 1'); print(len(open(data).readlines()), 'lines'); save(text='on kubernetes')",
    );
    const job = await it.ends(id);
    const log = await it.log(id);
    assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
    assert.match(
      log,
      /submitted to the Kubernetes cluster[^]*epoch 1\n1 lines[^]*sending the model/,
    );
    const { packages } = await client(PackageService).listPackages({
      organizationId: it.rig.bootstrapped.org_id,
      type: PackageType.ML_MODEL,
    });
    assert.deepEqual(packages.map(({ info }) => info?.version), ["1"]);
    assert.deepEqual(left(server), [], "the cluster keeps no Secret");
  });

  await test.step("one fails with its exit code and last lines", async () => {
    const job = await it.ends(await it.submit("print('no shapes in the pictures'); sys.exit(7)"));
    assert.equal(job.status, TrainingStatus.FAILED);
    assert.match(job.errorStatus?.message ?? "", /code 7[^]*no shapes in the pictures/);
  });

  await test.step("one is canceled while it runs, and ends on the cluster", async () => {
    const id = await it.submit("print('started', flush=True); time.sleep(600)");
    await it.prints(id, "started\n".trim());
    await client(MLTrainingService).cancelTrainingJob({ id });
    assert.equal((await it.ends(id)).status, TrainingStatus.CANCELED);
    await eventually("nothing is left", () => Promise.resolve(left(server).length === 0));
  });

  await test.step("a cloud that is killed ends what it left there, and runs the job again", async () => {
    const id = await it.submit("print('started', flush=True); time.sleep(8); save()");
    await it.prints(id, "the run has started");
    const [cloud] = it.rig.programs;
    cloud?.signal("SIGKILL");
    await cloud?.exited;
    await it.rig.startCloud(options(server));
    const job = await it.ends(id);
    const log = await it.log(id);
    assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
    assert.match(log, /the cloud was cut while this ran/);
    assert.deepEqual(left(server), []);
  });
});

Deno.test({
  name: "managed training runs on a Kubernetes cluster, and installs what it requires",
  ignore,
}, async () => {
  await using server = await startServer();
  await using it = await ClusterRig.open(options(server));
  const id = await it.submitManaged();
  const job = await it.ends(id, INSTALL_MS);
  const log = await it.log(id);
  assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
  assert.match(log, /epoch 1\/\d+ loss/);
  assert.deepEqual(left(server), []);
});
