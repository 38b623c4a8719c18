import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { ModelType } from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { apiKey, TestCloud } from "../../serve/cloud_testing.ts";
import { reasonOf } from "../../../shared/rpc/reasons.ts";
import { checkManaged } from "./check_dataset.ts";

const { SINGLE_LABEL_CLASSIFICATION, MULTI_LABEL_CLASSIFICATION, OBJECT_DETECTION } = ModelType;
const BOX = { x_min: 0.25, y_min: 0.25, x_max: 0.5, y_max: 0.5 };

interface DatasetImage {
  readonly tags?: readonly string[];
  readonly classifications?: readonly string[];
  readonly boxes?: readonly (Partial<typeof BOX> & { label: string })[];
  readonly mimeType?: string;
}

/** A cloud with an empty dataset that is filled in the database. */
async function rig() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  const { id: datasetId } = await cloud.client(DatasetService, apiKey(made))
    .createDataset({ organizationId: made.org_id, name: "shapes" });
  const names = { machine_name: "m", part_name: "p", component_type: "camera" };
  const source = await queries.insertInto("data_sources").values({
    ...{ org_id: made.org_id, location_id: made.location_id, machine_id: made.machine_id },
    ...{ ...names, part_id: made.part_id, component_name: "eye", method_name: "ReadImage" },
  }).returning("id").executeTakeFirstOrThrow();
  let count = 0;
  const add = async (
    { tags = [], classifications = [], boxes = [], mimeType = "image/jpeg" }: DatasetImage,
  ) => {
    const id = `image-${count++}`;
    await queries.insertInto("binary_data").values({
      ...{ id, org_id: made.org_id, source_id: source.id, digest: id, requested_us: 0 },
      ...{ received_us: 0, synced_at: 0, file_name: "", file_extension: ".jpg" },
      ...{ mime_type: mimeType, parameters: "{}", size: 1, sha256: "" },
    }).execute();
    await queries.insertInto("dataset_files").values({ dataset_id: datasetId, binary_id: id })
      .execute();
    for (const tag of tags) {
      await queries.insertInto("binary_tags").values({ binary_id: id, tag }).execute();
    }
    const annotations = [
      ...classifications.map((label) => ({ ...BOX, label, kind: "classification" as const })),
      ...boxes.map((box) => ({ ...BOX, ...box, kind: "box" as const })),
    ];
    for (const [at, annotation] of annotations.entries()) {
      await queries.insertInto("binary_annotations")
        .values({ ...annotation, id: `${id}-${at}`, binary_id: id, confidence: null }).execute();
    }
  };
  return {
    add,
    async addMany(amount: number, image: DatasetImage) {
      for (let i = 0; i < amount; i++) await add(image);
    },
    check: (modelType: ModelType, tags: string[], orgId = made.org_id) =>
      checkManaged(queries, { orgId, datasetId, modelType, tags }),
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}

const fails = (code: Code, message: RegExp) => (error: unknown) =>
  error instanceof ConnectError && error.code === code && message.test(error.rawMessage);

/** The error carries a reason for programs. */
const because = (reason: string, values: Record<string, string>) => (error: unknown) => {
  assert.ok(error instanceof ConnectError);
  assert.deepEqual(reasonOf(error), { reason, values });
  return true;
};

const notReady = (message: RegExp) => fails(Code.FailedPrecondition, message);

Deno.test("checkManaged() takes tags and classifications alike when the dataset is fit", async () => {
  await using it = await rig();
  await it.addMany(6, { tags: ["star"] });
  await it.addMany(6, { classifications: ["blue"] });
  await it.addMany(3, {});
  await it.check(SINGLE_LABEL_CLASSIFICATION, ["star", "blue"]);
  await it.check(MULTI_LABEL_CLASSIFICATION, ["blue", "star", "star"]);
});

Deno.test("checkManaged() counts images alone, and of its own organisation", async () => {
  await using it = await rig();
  await it.addMany(14, { tags: ["star", "blue"] });
  await it.add({ tags: ["star"], mimeType: "pointcloud/pcd" });
  const check = () => it.check(MULTI_LABEL_CLASSIFICATION, ["star", "blue"]);
  await assert.rejects(check, notReady(/has 14 images.* 15 at least/));
  await assert.rejects(check, because("DATASET_SMALL", { images: "14", least: "15" }));
  await it.add({ tags: ["star"], mimeType: "image/png" });
  await check();
  await assert.rejects(
    () => it.check(MULTI_LABEL_CLASSIFICATION, ["star", "blue"], "other"),
    notReady(/has 0 images/),
  );
});

Deno.test("checkManaged() wants labels of the model's kind on four of five images", async () => {
  await using it = await rig();
  await it.addMany(8, { tags: ["star"], boxes: [{ label: "star" }] });
  await it.addMany(7, { tags: ["blue"] });
  await it.add({ boxes: [{ label: "star" }] });
  await it.addMany(3, {});
  const message = /^15 of the dataset's 19 images have a tag or classification.* 80 % \(16\)$/;
  await assert.rejects(
    () => it.check(SINGLE_LABEL_CLASSIFICATION, ["star", "blue"]),
    notReady(message),
  );
  await assert.rejects(
    () => it.check(OBJECT_DETECTION, ["star"]),
    notReady(/^9 of the dataset's 19 images have a bounding box/),
  );
  await assert.rejects(
    () => it.check(OBJECT_DETECTION, ["star"]),
    because("DATASET_UNLABELLED", { labelled: "9", images: "19", least: "16" }),
  );
  await it.add({ tags: ["other"] });
  await it.check(SINGLE_LABEL_CLASSIFICATION, ["star", "blue"]);
});

Deno.test("checkManaged() names the labels that no image is trained with", async () => {
  await using it = await rig();
  await it.addMany(10, { tags: ["star"] });
  await it.addMany(10, { tags: ["star", "blue"], classifications: ["blue"] });
  await it.check(MULTI_LABEL_CLASSIFICATION, ["star", "blue"]);
  await assert.rejects(
    () => it.check(SINGLE_LABEL_CLASSIFICATION, ["star", "blue"]),
    notReady(/no image of the dataset has "blue", or only together .*: "star" 20, "blue" 10$/),
  );
  await assert.rejects(
    () => it.check(MULTI_LABEL_CLASSIFICATION, ["star", "sun", "moon"]),
    notReady(/has "sun", "moon"; images by label: "star" 20, "blue" 10$/),
  );
});

Deno.test("checkManaged() asks for two labels of a classification, and one of a detection", async () => {
  await using it = await rig();
  await it.addMany(20, { tags: ["star"], boxes: [{ label: "star" }] });
  for (const tags of [[], ["star"], ["star", "star"]]) {
    await assert.rejects(
      () => it.check(MULTI_LABEL_CLASSIFICATION, tags),
      fails(Code.InvalidArgument, /^tags: .* 2 labels at least/),
    );
    await assert.rejects(
      () => it.check(MULTI_LABEL_CLASSIFICATION, tags),
      because("LABELS_FEW", { least: "2" }),
    );
  }
  await it.check(OBJECT_DETECTION, ["star"]);
});

Deno.test("checkManaged() refuses boxes that are none, of the labels asked for", async () => {
  await using it = await rig();
  await it.addMany(20, { boxes: [{ label: "star" }, { label: "edge", x_min: 0, x_max: 1 }] });
  await it.add({
    boxes: [
      { label: "star", x_min: 0.5 },
      { label: "star", y_max: 1.01 },
      { label: "blue", x_min: -0.1 },
    ],
  });
  await it.add({ boxes: [{ label: "star", y_min: 0.6 }, { label: "edge" }] });
  await it.check(OBJECT_DETECTION, ["edge"]);
  await assert.rejects(
    () => it.check(OBJECT_DETECTION, ["star", "blue", "edge"]),
    notReady(/^4 of the dataset's 45 bounding boxes with these labels are none/),
  );
});
