/** For tests: a cloud that trains on a cluster. */
import assert from "node:assert/strict";
import { NOON, uploadImage } from "../../cloud/data/ingest/data_testing.ts";
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
import { eventually, Rig } from "../e2e/rig.ts";
import { oneShape, SHAPES, toJpeg } from "./shapes.ts";

const DEADLINE_MS = 600_000;
/** TensorFlow has 1.6 GB. */
export const INSTALL_MS = 1_200_000;
const ENDED = [TrainingStatus.COMPLETED, TrainingStatus.FAILED, TrainingStatus.CANCELED];

/** A cloud that trains on a cluster, with a dataset of one image and an obedient script. */
export class ClusterRig implements AsyncDisposable {
  #jobs = 0;

  private constructor(readonly rig: Rig, private readonly datasetId: string) {}

  /** @param options of `serve` */
  static async open(options: readonly string[]): Promise<ClusterRig> {
    const rig = await Rig.create();
    await rig.startCloud([...options]);
    const { client } = await rig.cloud();
    const { org_id: organizationId, part_id } = rig.bootstrapped;
    const dataset = await client(DatasetService).createDataset({ organizationId, name: "shapes" });
    const picture = new Uint8Array([1, 2, 3]);
    await uploadImage(client(DataSyncService), part_id, NOON, picture, {
      datasetIds: [dataset.id],
    });
    const contents = tarGzOf(OBEDIENT);
    const version = { type: PackageType.ML_TRAINING, version: "1.0.0", contents, chunk: 65_536 };
    await createPackage(client(PackageService), organizationId, "trainer", version);
    return new ClusterRig(rig, dataset.id);
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
      await uploadImage(client(DataSyncService), part_id, NOON + number, toJpeg(picture), {
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
  }
}
