import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { ModelFramework } from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { AppService, Visibility } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { createPackage } from "../../registry/packages/packages_testing.ts";
import { apiKey, failure } from "../../serve/cloud_testing.ts";
import { TrainingRig } from "./rig_testing.ts";

/** A wrong value of a field, and what is said of it. */
type Case = [field: string, value: unknown, message: RegExp];

const NAMES: Case[] = [
  ["modelName", "", /^model_name: it is missing$/],
  ["modelName", "a b", /^model_name: "a b" is no name; allowed are letters, digits, - and _/],
  ["modelName", "x".repeat(101), /^model_name: .* longer than 100 characters/],
  ["modelVersion", "", /^model_version: it is missing$/],
  ["modelVersion", "latest", /^model_version: "latest" stands for the newest one/],
  ["modelVersion", "1/2", /^model_version: "1\/2" is no version; allowed are/],
];

const DATASET: Case = ["datasetId", "", /^dataset_id: it is missing$/];

/** In the order in which they are checked. */
const MANAGED: Case[] = [
  ["organizationId", "", /^organization_id: it is missing$/],
  DATASET,
  ...NAMES,
  [
    "modelType",
    0,
    /^model_type: it is missing; allowed are MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION \(1\), /,
  ],
  ["modelType", 4, /^model_type: 4 is none; .*MODEL_TYPE_OBJECT_DETECTION \(3\)$/],
  ["tags", [], /^tags: there are none; name the labels to train on$/],
  ["tags", Array.from({ length: 201 }, (_, at) => `t${at}`), /^tags: there are more than 200$/],
  ["tags", ["a", " "], /^tags\[1\]: it is empty/],
  ["tags", ["a", "b", "a"], /^tags\[2\]: "a" is there twice$/],
  ["tags", ["x".repeat(1_025)], /^tags\[0\]: it is longer than 1024 characters$/],
  ["tags", ["two\nlines"], /^tags\[0\]: "two\\nlines" has a control character$/],
  ["modelFramework", ModelFramework.PYTORCH, /^model_framework: only TFLite .* not PYTORCH; for/],
  ["modelFramework", 77, /^model_framework: only TFLite models are trained here .* not 77;/],
];

const CUSTOM: Case[] = [
  ["organizationId", "", /^organization_id: it is missing$/],
  DATASET,
  ["registryItemId", "", /^registry_item_id: it is missing$/],
  ["registryItemId", "trainer", /^registry_item_id: "trainer" has not the form namespace:name/],
  ["registryItemId", "a:b:c", /^registry_item_id: "a:b:c" has not the form/],
  ["registryItemId", ":trainer", /^registry_item_id: ":trainer" has not the form/],
  ["registryItemVersion", "", /^registry_item_version: it is missing$/],
  ["registryItemVersion", "^1", /^registry_item_version: "\^1" is no version/],
  ...NAMES,
  ["modelName", "trainer", /^model_name: "trainer" is the name of the training script; /],
  ["arguments", { "a b": "1" }, /^arguments: "a b" is no key; allowed are letters/],
  ["arguments", { "": "1" }, /^arguments: "" is no key/],
  ["arguments", { "a\n": "1" }, /^arguments: "a\\n" is no key/],
  ["arguments", { ["k".repeat(101)]: "1" }, /^arguments: a key is longer than 100 characters$/],
  ["arguments", { dataset_file: "x" }, /^arguments: "dataset_file" is what the cloud itself gives/],
  ["arguments", { zero: "a\0b" }, /^arguments: the value of "zero" has a zero character$/],
  [
    "arguments",
    Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`k${at}`, ""])),
    /^arguments: there are more than 100$/,
  ],
  ["arguments", { a: "x".repeat(32_769) }, /^arguments: the values have more than 32768 char/],
  [
    "containerVersion",
    "tf:1",
    /^container_version: there is no container "tf:1"; there are: local, tf:2.16/,
  ],
  ["containerId", "tf:1", /^container_id: there is no container "tf:1"/],
];

Deno.test("wrong fields of a managed job are refused by name, the first of several first", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  await refuseAll(MANAGED, rig.managed(), (request) => client.submitTrainingJob(request));
  assert.deepEqual(await rig.jobs.unfinished(), []);
});

Deno.test("wrong fields of a custom job are refused by name, the first of several first", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  await refuseAll(CUSTOM, rig.custom(), (request) => client.submitCustomTrainingJob(request));
  const two = { ...rig.custom(), containerVersion: "local", containerId: "tf:2.16" };
  const differ = await failure(client.submitCustomTrainingJob(two));
  assert.match(differ.message, /^container_id: container_version names another one$/);
  assert.deepEqual(await rig.jobs.unfinished(), []);
});

Deno.test("what a job names and is not there is NOT_FOUND, in order, and says what is missing", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  await rig.uploadScript("no-script", "1.0.0", { type: PackageType.ARCHIVE });
  const stranger = await rig.cloud.bootstrap({ organization: "Strangers" });
  const strangers = apiKey(stranger);
  const organizationId = stranger.org_id;
  const { id: foreignDataset } = await rig.cloud.client(DatasetService, strangers)
    .createDataset({ organizationId, name: "theirs" });
  const theirs = rig.cloud.client(PackageService, strangers);
  await createPackage(theirs, organizationId, "hidden", { type: PackageType.ML_TRAINING });
  await createPackage(theirs, organizationId, "shown", { type: PackageType.ML_TRAINING });
  const app = rig.cloud.client(AppService, strangers);
  await app.updateOrganizationNamespace({ organizationId, newPublicNamespace: "strangers" });
  await app.updateRegistryItem({
    itemId: "strangers:shown",
    type: PackageType.ML_TRAINING,
    description: "For all",
    visibility: Visibility.PUBLIC,
  });

  const { orgId } = rig;
  const cases: [object, RegExp][] = [
    [{ datasetId: "none", registryItemId: `${orgId}:none` }, /^no dataset with id "none"$/],
    [{ datasetId: foreignDataset }, /^no dataset with id/],
    [
      { registryItemId: `${orgId}:none`, registryItemVersion: "9" },
      /^no training script with id ".*:none"$/,
    ],
    [{ registryItemId: `${organizationId}:hidden` }, /^no training script with id ".*:hidden"$/],
    [{ registryItemId: `${orgId}:no-script` }, /^no training script .*: it is of type archive$/],
    [
      { registryItemVersion: "9" },
      /^registry_item_version: .*:trainer has no version "9"; there are: 1\.0\.0$/,
    ],
  ];
  for (const [changes, message] of cases) {
    const refused = await failure(client.submitCustomTrainingJob({ ...rig.custom(), ...changes }));
    assert.match(refused.message, message);
    assert.equal(refused.code, Code.NotFound);
  }
  const managed = client.submitTrainingJob({ ...rig.managed(), datasetId: foreignDataset });
  assert.equal((await failure(managed)).code, Code.NotFound);
  await client.submitCustomTrainingJob({
    ...rig.custom(),
    registryItemId: "strangers:shown",
  });

  const taken = await failure(client.submitTrainingJob(rig.managed()));
  assert.equal(taken.code, Code.AlreadyExists);
  assert.deepEqual(rig.wishes, []);
});

/**
 * Each wrong value alone is refused, and so it is when all that are checked later are wrong too.
 */
async function refuseAll<Request extends object>(
  cases: readonly Case[],
  good: Request,
  submit: (request: Request) => Promise<unknown>,
): Promise<void> {
  for (const [at, [field, value, message]] of cases.entries()) {
    const alone = await failure(submit({ ...good, [field]: value }));
    assert.match(alone.message, message);
    assert.equal(alone.code, Code.InvalidArgument, alone.message);
    const later = cases.slice(at + 1).filter(([other]) => other !== field);
    const rest = Object.fromEntries(later.map(([other, wrong]) => [other, wrong]));
    const first = await failure(submit({ ...good, ...rest, [field]: value }));
    assert.match(first.message, message);
  }
}
