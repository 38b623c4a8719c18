import assert from "node:assert/strict";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { extract } from "tar";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  MLTrainingService,
  type ModelType,
  type TrainingJobMetadata,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import type { BootstrapResult } from "../../cloud/local/bootstrap/bootstrap.ts";
import { NOON, uploadImage } from "../../cloud/data/ingest/data_testing.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { FolderBlobStore } from "../../cloud/storage/blobs/folder_blob_store.ts";
import { apiKey, partSecret, TestCloud } from "../../cloud/serve/cloud_testing.ts";
import type { TrainingRunner } from "../../cloud/training/runs/runner.ts";
import { type ShapeImage, SHAPES, toJpeg } from "./shapes.ts";

/** Far more than a job takes here: the host may have much else to do. Milliseconds. */
const DEADLINE_MS = 1_800_000;
/** Room for a model. */
export const PACKAGE_LIMIT_BYTES = 20_000_000;
const ENDED = [TrainingStatus.COMPLETED, TrainingStatus.FAILED, TrainingStatus.CANCELED];

/** Name of the model of all jobs. */
export const MODEL = "shape-model";

/** A job that has ended, with its log. */
export interface EndedJob {
  readonly job: TrainingJobMetadata;
  readonly log: string[];
}

/** What a job needs of a cloud. */
export interface ManagedCloud {
  readonly dataDir: string;
  readonly made: BootstrapResult;
  /** Calls by the key of the organisation. */
  client<S extends DescService>(service: S): Client<S>;
  /** Calls by the secret of the first machine's part. */
  part<S extends DescService>(service: S): Client<S>;
}

/** A cloud with a dataset that jobs of managed training are submitted for. */
export class ManagedRig implements AsyncDisposable {
  #images = 0;

  private constructor(
    private readonly cloud: ManagedCloud,
    private readonly datasetId: string,
    private readonly owned?: AsyncDisposable,
  ) {}

  static async open(runner: TrainingRunner): Promise<ManagedRig> {
    const cloud = await TestCloud.open({
      training: { runner },
      packageLimitBytes: PACKAGE_LIMIT_BYTES,
    });
    const made = await cloud.bootstrap();
    return await ManagedRig.in({
      ...{ dataDir: cloud.dataDir, made },
      client: (service) => cloud.client(service, apiKey(made)),
      part: (service) => cloud.client(service, partSecret(made)),
    }, cloud);
  }

  /** @param owned ends with the rig */
  static async in(cloud: ManagedCloud, owned?: AsyncDisposable): Promise<ManagedRig> {
    const { id } = await cloud.client(DatasetService)
      .createDataset({ organizationId: cloud.made.org_id, name: "shapes" });
    return new ManagedRig(cloud, id, owned);
  }

  /** Uploads an image as a machine does. @returns its id */
  async upload(bytes: Uint8Array, tags: readonly string[]): Promise<string> {
    const sync = this.cloud.part(DataSyncService);
    const changes = { datasetIds: [this.datasetId], tags: [...tags] };
    return await uploadImage(
      sync,
      this.cloud.made.part_id,
      NOON + 1_000 * this.#images++,
      bytes,
      changes,
    );
  }

  /** Uploads an image of shapes, labelled with tags or with boxes. */
  async add(picture: ShapeImage, labelled: "tags" | "boxes"): Promise<void> {
    const tags = labelled === "tags" ? picture.shapes.map(({ label }) => label) : [];
    const binaryDataId = await this.upload(toJpeg(picture), tags);
    if (labelled === "tags") return;
    const data = this.cloud.client(DataService);
    for (const { label, xMin, yMin, xMax, yMax } of picture.shapes) {
      await data.addBoundingBoxToImageByID({
        ...{ binaryDataId, label, xMinNormalized: xMin, yMinNormalized: yMin },
        ...{ xMaxNormalized: xMax, yMaxNormalized: yMax },
      });
    }
  }

  /** Trains on all shapes, to the end. */
  async train(modelType: ModelType): Promise<EndedJob> {
    const { id } = await this.cloud.client(MLTrainingService).submitTrainingJob({
      ...{ organizationId: this.cloud.made.org_id, datasetId: this.datasetId, modelType },
      ...{ modelName: MODEL, modelVersion: "1", tags: [...SHAPES] },
    });
    return await this.ended(id);
  }

  /** Waits for the end of a job. */
  async ended(id: string): Promise<EndedJob> {
    const training = this.cloud.client(MLTrainingService);
    const read = async () => {
      const { metadata } = await training.getTrainingJob({ id });
      assert.ok(metadata);
      return metadata;
    };
    const hasEnded = async () => ENDED.includes((await read()).status);
    await waitFor(hasEnded, { deadlineMs: DEADLINE_MS, what: "the end of the job", everyMs: 200 });
    const { logs } = await training.getTrainingJobLogs({ id, pageToken: "" });
    return { job: await read(), log: logs.map(({ message }) => message) };
  }

  /** Unpacks the model's package. @returns the folder, and the metrics that the package reports */
  async result(): Promise<{ folder: string; labels: string[]; metrics: Record<string, number> }> {
    const { dataDir } = this.cloud;
    const data = await openDataFolder(dataDir, systemRandom);
    const row = await data.database.queries.selectFrom("package_files")
      .innerJoin("registry_items", "registry_items.id", "package_files.item_id")
      .select(["package_files.id", "package_files.metadata"])
      .where("registry_items.name", "=", MODEL).executeTakeFirstOrThrow()
      .finally(() => data.database.close());
    const blobs = await FolderBlobStore.open(join(dataDir, "blobs"));
    const archive = await blobs.read(row.id);
    assert.ok(archive);
    const folder = join(dataDir, "unpacked");
    await Deno.mkdir(folder);
    const packed = join(dataDir, "model.tar.gz");
    await Deno.writeFile(packed, archive.readable);
    await extract({ file: packed, cwd: folder });
    const labels = (await Deno.readTextFile(join(folder, "labels.txt"))).trimEnd().split("\n");
    return { folder, labels, metrics: JSON.parse(row.metadata).metrics };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.owned?.[Symbol.asyncDispose]();
  }
}
