import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService, DatasetType } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { NOON, uploadImage } from "../ingest/data_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("datasets are made, listed, renamed and deleted in their organisation", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const stranger = await cloud.bootstrap({ organization: "Strangers" });
  const datasets = cloud.client(DatasetService, apiKey(made));
  const organizationId = made.org_id;
  const names = async () =>
    (await datasets.listDatasetsByOrganizationID({ organizationId })).datasets
      .map(({ name }) => name);

  const { id } = await datasets.createDataset({ organizationId, name: " cats " });
  const { id: other } = await datasets.createDataset({ organizationId, name: "birds" });
  assert.deepEqual(await names(), ["birds", "cats"]);
  await datasets.renameDataset({ id, name: "dogs" });
  const { datasets: [found] } = await datasets.listDatasetsByIDs({ ids: [id, "none"] });
  assert.deepEqual([found?.name, found?.organizationId, found?.type], [
    "dogs",
    organizationId,
    DatasetType.BINARY_DATA,
  ]);

  const foreign = cloud.client(DatasetService, apiKey(stranger));
  const asPart = cloud.client(DatasetService, partSecret(made));
  const cases: [() => Promise<unknown>, Code, RegExp][] = [
    [() => datasets.createDataset({ organizationId, name: "dogs" }), Code.AlreadyExists, /^name: /],
    [() => datasets.createDataset({ organizationId, name: " " }), Code.InvalidArgument, /^name: /],
    [() => datasets.renameDataset({ id, name: "birds" }), Code.AlreadyExists, /^name: /],
    [() => datasets.deleteDataset({ id: "none" }), Code.NotFound, /^no dataset with id "none"/],
    [() => foreign.renameDataset({ id, name: "mine" }), Code.NotFound, /^no dataset/],
    [() => foreign.createDataset({ organizationId, name: "x" }), Code.NotFound, /^no organization/],
    [
      () => asPart.deleteDataset({ id }),
      Code.PermissionDenied,
      /do not allow that on this dataset/,
    ],
    [
      () => datasets.createDataset({ organizationId, name: "x", type: 7 as DatasetType }),
      Code.InvalidArgument,
      /^type: there is no type 7/,
    ],
  ];
  for (const [call, code, message] of cases) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, code);
  }
  assert.deepEqual((await foreign.listDatasetsByIDs({ ids: [id] })).datasets, []);
  await datasets.deleteDataset({ id: other });
  assert.deepEqual(await names(), ["dogs"]);
});

Deno.test("files are put into datasets, by uploads too, taken out and merged", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const datasets = cloud.client(DatasetService, apiKey(made));
  const data = cloud.client(DataService, apiKey(made));
  const sync = cloud.client(DataSyncService, partSecret(made));
  const organizationId = made.org_id;
  const { id: first } = await datasets.createDataset({ organizationId, name: "first" });
  const { id: second } = await datasets.createDataset({ organizationId, name: "second" });
  const one = await uploadImage(sync, made.part_id, NOON, new Uint8Array([1]), {
    // A dataset that is gone must not keep the machine from sending.
    datasetIds: [first, crypto.randomUUID()],
  });
  const two = await uploadImage(sync, made.part_id, NOON + 1, new Uint8Array([2]));
  const filesOf = async (datasetId: string) => {
    const dataRequest = { filter: { datasetId } };
    const found = await data.binaryDataByFilter({ dataRequest });
    return found.data.map(({ metadata }) => metadata?.binaryDataId);
  };

  await data.addBinaryDataToDatasetByIDs({ datasetId: second, binaryDataIds: [one, two] });
  await data.addBinaryDataToDatasetByIDs({ datasetId: second, binaryDataIds: [two] });
  assert.deepEqual([await filesOf(first), await filesOf(second)], [[one], [one, two]]);
  const { datasetId: merged } = await datasets.mergeDatasets({
    organizationId,
    name: "both",
    datasetIds: [first, second],
  });
  await data.removeBinaryDataFromDatasetByIDs({ datasetId: second, binaryDataIds: [one] });
  assert.deepEqual([await filesOf(merged), await filesOf(second)], [[one, two], [two]]);
  const { data: [found] } = await data.binaryDataByIDs({ binaryDataIds: [one] });
  assert.deepEqual(found?.metadata?.datasetIds.toSorted(), [first, merged].toSorted());

  await datasets.deleteDataset({ id: merged });
  assert.deepEqual(await filesOf(first), [one]);
  const missing = data.addBinaryDataToDatasetByIDs({
    datasetId: first,
    binaryDataIds: [crypto.randomUUID()],
  });
  assert.equal((await failure(missing)).code, Code.NotFound);
});
