// Runs scripts on a real Ray cluster: `make test-training` runs it and `make test` does not. The
// first run installs Ray, 380 MB, into .tools/ray.
import assert from "node:assert/strict";
import { NOON, uploadPicture } from "../../cloud/data/ingest/data_testing.ts";
import { createPackage } from "../../cloud/registry/packages/packages_testing.ts";
import { OBEDIENT } from "../../cloud/training/runs/scripts_testing.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  MLTrainingService,
  ModelType,
  type TrainingJobMetadata,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { tarGzOf } from "../../shared/transfer/archive/testing.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { oneShape, SHAPES, toJpeg } from "./shapes.ts";
import { RayCluster, rayPython } from "./ray_cluster.ts";

const DEADLINE_MS = 300_000;
/** TensorFlow has 1.6 GB. */
const INSTALL_MS = 1_200_000;
const ENDED = [TrainingStatus.COMPLETED, TrainingStatus.FAILED, TrainingStatus.CANCELED];
const python = await rayPython();
const ignore = ignoreBecause(
  import.meta.url,
  typeof python === "string" ? `Ray cannot run here: ${python}` : undefined,
);

/** A cloud that trains on a cluster, with a dataset of one image and an obedient script. */
class RayRig implements AsyncDisposable {
  #jobs = 0;

  private constructor(
    readonly rig: Rig,
    readonly cluster: RayCluster,
    private readonly datasetId: string,
  ) {}

  static async open(): Promise<RayRig> {
    assert.ok(typeof python !== "string");
    const rig = await Rig.create();
    const cluster = await RayCluster.start(python.path);
    await rig.startCloud(RayRig.options(cluster));
    const { client } = await rig.cloud();
    const { org_id: organizationId, part_id } = rig.bootstrapped;
    const dataset = await client(DatasetService).createDataset({ organizationId, name: "shapes" });
    const picture = new Uint8Array([1, 2, 3]);
    await uploadPicture(client(DataSyncService), part_id, NOON, picture, {
      datasetIds: [dataset.id],
    });
    const contents = tarGzOf(OBEDIENT);
    const version = { type: PackageType.ML_TRAINING, version: "1.0.0", contents, chunk: 65_536 };
    await createPackage(client(PackageService), organizationId, "trainer", version);
    return new RayRig(rig, cluster, dataset.id);
  }

  static options(cluster: RayCluster): string[] {
    return [
      ...["--training-runner", "ray", "--ray-address", cluster.address],
      ...["--training-memory", "2048"],
    ];
  }

  async submit(code: string): Promise<string> {
    const { client } = await this.rig.cloud();
    const { org_id: organizationId } = this.rig.bootstrapped;
    const { id } = await client(MLTrainingService).submitCustomTrainingJob({
      ...{ organizationId, datasetId: this.datasetId, modelName: "shape-model" },
      ...{ registryItemId: `${organizationId}:trainer`, registryItemVersion: "1.0.0" },
      ...{ modelVersion: String(++this.#jobs), arguments: { do: code } },
    });
    return id;
  }

  /** Submits a job of managed training on images of shapes. */
  async submitManaged(): Promise<string> {
    const { client } = await this.rig.cloud();
    const { org_id: organizationId, part_id } = this.rig.bootstrapped;
    const dataset = await client(DatasetService).createDataset({ organizationId, name: "tagged" });
    for (let number = 0; number < 60; number++) {
      const picture = oneShape(number, 96);
      await uploadPicture(client(DataSyncService), part_id, NOON + number, toJpeg(picture), {
        datasetIds: [dataset.id],
        tags: picture.shapes.map(({ label }) => label),
      });
    }
    const { id } = await client(MLTrainingService).submitTrainingJob({
      ...{ organizationId, datasetId: dataset.id, modelName: "shapes", modelVersion: "1" },
      ...{ modelType: ModelType.SINGLE_LABEL_CLASSIFICATION, tags: [...SHAPES] },
    });
    return id;
  }

  async job(id: string): Promise<TrainingJobMetadata> {
    const { client } = await this.rig.cloud();
    const { metadata } = await client(MLTrainingService).getTrainingJob({ id });
    assert.ok(metadata);
    return metadata;
  }

  async ends(id: string, deadlineMs = DEADLINE_MS): Promise<TrainingJobMetadata> {
    return await eventually("the job has ended", async () => {
      const job = await this.job(id);
      return ENDED.includes(job.status) && job;
    }, deadlineMs);
  }

  async log(id: string): Promise<string> {
    const { client } = await this.rig.cloud();
    const { logs } = await client(MLTrainingService).getTrainingJobLogs({ id, pageToken: "" });
    return logs.map(({ message }) => message).join("\n");
  }

  async prints(id: string, text: string): Promise<void> {
    await eventually(
      `${text} in the log`,
      async () => (await this.log(id)).includes(text),
      120_000,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}

Deno.test({ name: "scripts run as jobs of a Ray cluster", ignore }, async (test) => {
  await using it = await RayRig.open();
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
    assert.deepEqual(await it.cluster.jobs(), [], "the cluster keeps no job, whose key is in it");
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
    await eventually("no job is left", async () => (await it.cluster.jobs()).length === 0);
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
    await it.cluster.kill();
    await it.cluster.startHead();
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
    await it.rig.startCloud(RayRig.options(it.cluster));
    const job = await it.ends(id);
    const log = await it.log(id);
    assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
    assert.match(log, /the cloud was cut while this ran/);
    assert.deepEqual(await it.cluster.jobs(), []);
  });
});

Deno.test({
  name: "managed training runs on a Ray cluster, which installs what it requires",
  ignore,
}, async () => {
  await using it = await RayRig.open();
  const id = await it.submitManaged();
  const job = await it.ends(id, INSTALL_MS);
  const log = await it.log(id);
  assert.equal(job.status, TrainingStatus.COMPLETED, `${job.errorStatus?.message}\n${log}`);
  assert.match(log, /epoch 1\/\d+ loss/);
});
