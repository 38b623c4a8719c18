import assert from "node:assert/strict";
import { join } from "node:path";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { ModelType } from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { NOON, uploadImage } from "../../data/ingest/data_testing.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { apiKey, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import type { DatasetForm } from "./dataset_lines.ts";
import { writeDataset } from "./write_dataset.ts";

const never = new AbortController().signal;

/** A cloud with an empty dataset, and folders to write it to. */
async function rig() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const datasets = cloud.client(DatasetService, apiKey(made));
  const data = cloud.client(DataService, apiKey(made));
  const sync = cloud.client(DataSyncService, partSecret(made));
  const files = await FolderBlobStore.open(join(cloud.dataDir, "data-files"));
  const queries = cloud.folder.database.queries;
  const { id } = await datasets.createDataset({ organizationId: made.org_id, name: "shapes" });
  let images = 0;
  return {
    ...{ cloud, made, data, queries, files, datasetId: id },
    /** Uploads an image of one byte into the dataset. */
    async image(tags: string[] = [], byte = images, changes = {}) {
      const binaryId = await uploadImage(
        sync,
        made.part_id,
        NOON + 250 * images++,
        new Uint8Array([byte]),
        { datasetIds: [id], tags, ...changes },
      );
      return { binaryId, fileId: binaryId.split("/").at(-1) ?? "" };
    },
    async write(form: DatasetForm, signal = never, orgId = made.org_id) {
      const folder = await Deno.makeTempDir({ dir: cloud.dataDir, prefix: "dataset-" });
      const options = { queries, files, orgId, datasetId: id, folder, form, signal };
      const { datasetFile, images } = await writeDataset(options);
      const text = await Deno.readTextFile(join(folder, datasetFile));
      const lines = text.split("\n").slice(0, -1).map((line) => JSON.parse(line));
      return { folder, images, lines };
    },
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}

const box = { xMinNormalized: 0.1, yMinNormalized: 0.2, xMaxNormalized: 0.5, yMaxNormalized: 0.75 };

Deno.test("writeDataset() writes what custom scripts read, and the files beside it", async () => {
  await using it = await rig();
  const one = await it.image(["star", "blue"], 7);
  await it.image([], 8, { fileExtension: ".jpeg/../../x", componentName: "other" });
  const { bboxId } = await it.data.addBoundingBoxToImageByID({
    ...{ binaryDataId: one.binaryId, label: "point", confidence: 0.5 },
    ...box,
  });
  await it.queries.insertInto("binary_annotations").values([
    { id: "c1", binary_id: one.fileId, kind: "classification", label: "blue", confidence: 0.25 },
    { id: "c2", binary_id: one.fileId, kind: "classification", label: "night", confidence: null },
  ].map((row) => ({ ...row, kind: "classification", x_min: 0, y_min: 0, x_max: 0, y_max: 0 })))
    .execute();

  const { folder, images, lines } = await it.write({ kind: "custom" });

  assert.equal(images, 2);
  const about = lines.find(({ binary_data_id }) => binary_data_id === one.binaryId);
  assert.deepEqual(about, {
    image_path: `data/${one.fileId}.jpeg`,
    classification_annotations: [
      { annotation_label: "blue", confidence: 0.25 },
      { annotation_label: "star" },
      { annotation_label: "night" },
    ],
    bounding_box_annotations: [{
      id: bboxId,
      annotation_label: "point",
      x_min_normalized: 0.1,
      x_max_normalized: 0.5,
      y_min_normalized: 0.2,
      y_max_normalized: 0.75,
      confidence: 0.5,
    }],
    binary_data_id: one.binaryId,
    timestamp: "2026-01-02 12:00:00 +0000 UTC",
    robot_id: it.made.machine_id,
    part_id: it.made.part_id,
    component_name: "eye",
    organization_id: it.made.org_id,
    location_id: it.made.location_id,
  });
  assert.deepEqual(await Deno.readFile(join(folder, about.image_path)), new Uint8Array([7]));
  const other = lines.find((line) => line !== about);
  assert.match(other.image_path, /^data\/[0-9a-f-]{36}$/, "no extension that leads elsewhere");
  assert.equal(other.timestamp, "2026-01-02 12:00:00.25 +0000 UTC");
  assert.deepEqual(await Deno.readFile(join(folder, other.image_path)), new Uint8Array([8]));
});

Deno.test("writeDataset() gives managed jobs the labels that were asked for", async () => {
  await using it = await rig();
  const star = await it.image(["star", "blue"]);
  const both = await it.image(["star", "ring"]);
  const none = await it.image(["dog"]);
  await it.image(["star"], 9, { type: 3, fileExtension: ".txt" });
  for (const label of ["star", "dog"]) {
    await it.data.addBoundingBoxToImageByID({ binaryDataId: both.binaryId, label, ...box });
  }
  const written = async (modelType: ModelType) => {
    const tags = ["star", "ring"];
    const { images, lines } = await it.write({ kind: "managed", modelType, tags });
    assert.equal(images, lines.length);
    const labels = (found: { annotation_label: string }[]) =>
      found.map(({ annotation_label }) => annotation_label).sort().join();
    return Object.fromEntries(lines.map((line) => [
      line.image_path,
      `${labels(line.classification_annotations)}|${labels(line.bounding_box_annotations)}`,
    ]));
  };
  const path = ({ fileId }: { fileId: string }) => `data/${fileId}.jpeg`;

  assert.deepEqual(await written(ModelType.SINGLE_LABEL_CLASSIFICATION), {
    [path(star)]: "star|",
    [path(none)]: "|",
  });
  assert.deepEqual(await written(ModelType.MULTI_LABEL_CLASSIFICATION), {
    [path(star)]: "star|",
    [path(both)]: "ring,star|",
    [path(none)]: "|",
  });
  assert.deepEqual(await written(ModelType.OBJECT_DETECTION), {
    [path(star)]: "|",
    [path(both)]: "|star",
    [path(none)]: "|",
  });
});

Deno.test("writeDataset() tells 0 for a dataset that is empty, another's, or gone", async () => {
  await using it = await rig();
  assert.equal((await it.write({ kind: "custom" })).images, 0);
  await it.image();
  assert.equal((await it.write({ kind: "custom" })).images, 1);
  assert.equal((await it.write({ kind: "custom" }, never, crypto.randomUUID())).images, 0);
  await it.queries.deleteFrom("datasets").where("id", "=", it.datasetId).execute();
  assert.equal((await it.write({ kind: "custom" })).images, 0);
});

Deno.test("writeDataset() leaves out files whose bytes are gone, and pages through many", async () => {
  await using it = await rig();
  const first = await it.image(["star"], 1);
  const [row] = await it.queries.selectFrom("binary_data").selectAll()
    .where("id", "=", first.fileId).execute();
  assert.ok(row);
  const bytes = join(it.cloud.dataDir, "data-files");
  for (let at = 0; at < 450; at++) {
    const id = crypto.randomUUID();
    await it.queries.insertInto("binary_data").values({ ...row, id, digest: id }).execute();
    await it.queries.insertInto("dataset_files").values({ dataset_id: it.datasetId, binary_id: id })
      .execute();
    if (at !== 300) await Deno.copyFile(join(bytes, first.fileId), join(bytes, id));
  }
  const { images, lines, folder } = await it.write({ kind: "custom" });
  assert.equal(images, 450);
  assert.equal(new Set(lines.map(({ image_path }) => image_path)).size, 450);
  assert.equal([...Deno.readDirSync(join(folder, "data"))].length, 450);
});

Deno.test("writeDataset() ends with the signal's reason, and writes nothing after that", async () => {
  await using it = await rig();
  for (let at = 0; at < 3; at++) await it.image();
  const stopping = new AbortController();
  const files = {
    read: async (id: string) => {
      stopping.abort(new Error("enough"));
      return await it.files.read(id);
    },
  };
  const folder = await Deno.makeTempDir({ dir: it.cloud.dataDir });
  const writing = writeDataset({
    ...{ queries: it.queries, files, orgId: it.made.org_id, datasetId: it.datasetId, folder },
    ...{ form: { kind: "custom" }, signal: stopping.signal },
  });
  await assert.rejects(writing, /^Error: enough$/);
  await Deno.remove(folder, { recursive: true });
});
