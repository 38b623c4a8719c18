import assert from "node:assert/strict";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService, DatasetType } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { NOON, uploadImage } from "../ingest/data_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

async function opened() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  return {
    cloud,
    made,
    sync: cloud.client(DataSyncService, partSecret(made)),
    data: cloud.client(DataService, apiKey(made)),
    datasets: cloud.client(DatasetService, apiKey(made)),
    sequence: {
      partId: made.part_id,
      resources: [{ resourceName: "eye", methodName: "ReadImage" }],
      sequenceTags: ["second", "first", "first"],
      startTime: timestampFromMs(NOON),
      endTime: timestampFromMs(NOON + 10_000),
    },
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}

Deno.test("sequences are made, listed in pages, changed field by field and deleted", async () => {
  await using it = await opened();
  const { data, made, sequence } = it;
  const organizationId = made.org_id;
  const { id } = await data.createSequence(sequence);
  const { sequence: found } = await data.getSequence({ id });
  assert.equal(found?.partId, made.part_id);
  assert.deepEqual(found.sequenceTags, ["first", "second"]);
  assert.deepEqual(found.resources.map((one) => [one.resourceName, one.methodName]), [
    ["eye", "ReadImage"],
  ]);
  assert.equal(found.startTime?.seconds, BigInt(NOON / 1_000));
  assert.deepEqual(found.datasetIds, []);

  await data.updateSequence({
    id,
    sequenceTags: [],
    endTime: timestampFromMs(NOON + 20_000),
    fieldMask: { paths: ["sequence_tags", "end_time"] },
  });
  const { sequence: changed } = await data.getSequence({ id });
  assert.deepEqual(changed?.sequenceTags, []);
  assert.equal(changed.endTime?.seconds, BigInt(NOON / 1_000 + 20));
  assert.equal(changed.resources.length, 1);

  for (let n = 0; n < 4; n++) await data.createSequence(sequence);
  const sizes: number[] = [];
  let pageToken = "";
  do {
    const page = await data.listSequences({ organizationId, pageToken, pageSize: 2 });
    sizes.push(page.sequences.length);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  assert.deepEqual(sizes, [2, 2, 1]);
  await data.deleteSequence({ id });
  assert.equal((await failure(data.getSequence({ id }))).code, Code.NotFound);
  assert.equal((await data.listSequences({ organizationId })).sequences.length, 4);
});

Deno.test("sequences refuse what makes no sense, and callers who may not", async () => {
  await using it = await opened();
  const { data, sequence, cloud, made } = it;
  const stranger = cloud.client(DataService, apiKey(await cloud.bootstrap({ organization: "X" })));
  const asPart = cloud.client(DataService, partSecret(made));
  const { id } = await data.createSequence(sequence);
  const late = timestampFromMs(NOON + 10_000);
  const cases: [() => Promise<unknown>, Code, RegExp][] = [
    [
      () => data.createSequence({ ...sequence, partId: "" }),
      Code.InvalidArgument,
      /part id is missing/,
    ],
    [
      () => data.createSequence({ ...sequence, partId: "none" }),
      Code.NotFound,
      /no part with id "none"/,
    ],
    [
      () => data.createSequence({ ...sequence, resources: [] }),
      Code.InvalidArgument,
      /^resources: /,
    ],
    [
      () => data.createSequence({ ...sequence, resources: [{ methodName: "Readings" }] }),
      Code.InvalidArgument,
      /^resources\[0\]\.resource_name: it is missing/,
    ],
    [
      () => data.createSequence({ ...sequence, startTime: late }),
      Code.InvalidArgument,
      /^end_time: it is not after start_time/,
    ],
    [
      () => data.createSequence({ ...sequence, startTime: undefined } as never),
      Code.InvalidArgument,
      /^start_time: it is missing/,
    ],
    [
      () => data.updateSequence({ id, fieldMask: { paths: ["part_id"] } }),
      Code.InvalidArgument,
      /^field_mask: "part_id" is none of resources, sequence_tags/,
    ],
    [
      () => data.updateSequence({ id, startTime: late, fieldMask: { paths: ["start_time"] } }),
      Code.InvalidArgument,
      /^end_time: it is not after/,
    ],
    [
      () => data.getSequenceBinaryData({ sequenceId: id, pageToken: "x" }),
      Code.InvalidArgument,
      /^page_/,
    ],
    [() => stranger.getSequence({ id }), Code.NotFound, /^no sequence with id/],
    [() => stranger.createSequence(sequence), Code.NotFound, /^no part with id/],
    [
      () => asPart.createSequence(sequence),
      Code.PermissionDenied,
      /do not allow that on this part/,
    ],
    [
      () => asPart.deleteSequence({ id }),
      Code.PermissionDenied,
      /do not allow that on this sequence/,
    ],
  ];
  for (const [call, code, message] of cases) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, code, failed.message);
  }
});

Deno.test("GetSequenceBinaryData() gives the files of its resources and its span, with their bytes", async () => {
  await using it = await opened();
  const { data, sync, made, sequence } = it;
  const upload = (at: number, byte: number, changes = {}) =>
    uploadImage(sync, made.part_id, at, new Uint8Array([byte]), changes);
  await upload(NOON - 1, 0);
  for (let n = 0; n < 5; n++) await upload(NOON + n * 1_000, 10 + n);
  await upload(NOON + 10_000, 1);
  await upload(NOON + 500, 2, { componentName: "other" });
  await upload(NOON + 500, 3, { methodName: "GetImages" });

  const bytesOf = async (id: string, pageSize: number) => {
    const pages: number[][] = [];
    let pageToken = "";
    do {
      const page = await data.getSequenceBinaryData({ sequenceId: id, pageToken, pageSize });
      pages.push(page.data.map(({ binary }) => binary[0] ?? -1));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return pages;
  };
  const { id } = await data.createSequence(sequence);
  assert.deepEqual(await bytesOf(id, 2), [[10, 11], [12, 13], [14]]);
  // Without a method it is all of the resource.
  const resources = [{ resourceName: "eye" }];
  await data.updateSequence({ id, resources, fieldMask: { paths: ["resources"] } });
  assert.deepEqual(await bytesOf(id, 0), [[10, 3, 11, 12, 13, 14]]);
});

Deno.test("datasets of sequences take sequences, and datasets of files take files", async () => {
  await using it = await opened();
  const { data, datasets, sync, made, sequence } = it;
  const organizationId = made.org_id;
  const type = DatasetType.SEQUENCE_DATA;
  const { id: datasetId } = await datasets.createDataset({ organizationId, name: "walks", type });
  const { id: files } = await datasets.createDataset({ organizationId, name: "pictures" });
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push((await data.createSequence(sequence)).id);
  await data.addSequencesToDataset({ datasetId, sequenceIds: ids });
  await data.addSequencesToDataset({ datasetId, sequenceIds: ids.slice(1) });
  await data.removeSequencesFromDataset({ datasetId, sequenceIds: ids.slice(2) });
  const { sequences, count, nextPageToken } = await data.sequencesByDatasetID({
    datasetId,
    pageSize: 1,
  });
  assert.deepEqual([sequences.length, count], [1, 2n]);
  assert.deepEqual(sequences[0]?.datasetIds, [datasetId]);
  const rest = await data.sequencesByDatasetID({ datasetId, pageToken: nextPageToken });
  assert.deepEqual(rest.sequences.map(({ id }) => id), [ids[1]]);
  const counted = await data.sequencesByDatasetID({ datasetId, countOnly: true });
  assert.deepEqual([counted.sequences.length, counted.count], [0, 2n]);

  const named = async (type?: DatasetType) =>
    (await datasets.listDatasetsByOrganizationID({
      organizationId,
      ...(type === undefined ? {} : { type }),
    })).datasets.map(({ name, type }) => [name, type]);
  assert.deepEqual(await named(), [["pictures", 0], ["walks", 1]]);
  assert.deepEqual(await named(DatasetType.BINARY_DATA), [["pictures", 0]]);
  assert.deepEqual(await named(type), [["walks", 1]]);

  // An upload that names a dataset of sequences is kept, and not put into it.
  const image = await uploadImage(sync, made.part_id, NOON, new Uint8Array([1]), {
    datasetIds: [datasetId, files],
  });
  const { data: [stored] } = await data.binaryDataByIDs({ binaryDataIds: [image] });
  assert.deepEqual(stored?.metadata?.datasetIds, [files]);
  const wrong: [() => Promise<unknown>, Code, RegExp][] = [
    [
      () => data.addSequencesToDataset({ datasetId: files, sequenceIds: ids }),
      Code.FailedPrecondition,
      /"pictures" holds files/,
    ],
    [
      () => data.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [image] }),
      Code.FailedPrecondition,
      /"walks" holds sequences/,
    ],
    [
      () => data.addSequencesToDataset({ datasetId, sequenceIds: [ids[0] ?? "", "none"] }),
      Code.NotFound,
      /^no sequence with id "none"/,
    ],
    [
      () =>
        datasets.mergeDatasets({ organizationId, name: "both", datasetIds: [datasetId, files] }),
      Code.InvalidArgument,
      /^dataset_ids: /,
    ],
  ];
  for (const [call, code, message] of wrong) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, code);
  }
  const { datasetId: merged } = await datasets.mergeDatasets({
    organizationId,
    name: "all",
    datasetIds: [datasetId],
  });
  assert.equal((await data.sequencesByDatasetID({ datasetId: merged })).count, 2n);
  await data.deleteSequence({ id: ids[0] ?? "" });
  assert.equal((await data.sequencesByDatasetID({ datasetId: merged })).count, 1n);
});
