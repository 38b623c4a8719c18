import assert from "node:assert/strict";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { StoredDataService } from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import {
  type BinaryDataByFilterResponse,
  DataService,
  type Filter,
  Order,
  TagsFilterType,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { NOON, uploadImage } from "./data_testing.ts";

type Changes = Omit<Partial<Filter>, "$typeName" | "$unknown">;

/** A cloud with `count` images a second apart; image n is n + 1 bytes of n. */
async function withImages(count: number) {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const image = new Uint8Array(n + 1).fill(n);
    ids.push(
      await uploadImage(sync, made.part_id, NOON + n * 1_000, image, {
        tags: n % 2 === 0 ? ["even"] : [],
        fileExtension: n === 0 ? ".png" : ".jpeg",
      }),
    );
  }
  const data = cloud.client(DataService, apiKey(made));
  return { cloud, made, ids, data, sync };
}

function idsOf({ data }: BinaryDataByFilterResponse): string[] {
  return data.map(({ metadata }) => metadata?.binaryDataId ?? "");
}

Deno.test("BinaryDataByFilter() pages in the order of time, with the bytes when asked", async () => {
  const { cloud, ids, data } = await withImages(5);
  await using _ = cloud;
  for (const sortOrder of [Order.ASCENDING, Order.DESCENDING]) {
    for (const limit of [1n, 2n, 50n]) {
      const found: string[] = [];
      let last = "";
      do {
        const page = await data.binaryDataByFilter({ dataRequest: { limit, last, sortOrder } });
        found.push(...idsOf(page));
        last = page.data.length === 0 ? "" : page.last;
      } while (last !== "");
      assert.deepEqual(found, sortOrder === Order.DESCENDING ? ids.toReversed() : ids);
    }
  }
  const whole = await data.binaryDataByFilter({ includeBinary: true, dataRequest: { limit: 3n } });
  assert.deepEqual(whole.data.map(({ binary }) => [...binary]), [[0], [1, 1], [2, 2, 2]]);
  const without = await data.binaryDataByFilter({});
  assert.ok(without.data.every(({ binary }) => binary.length === 0));
  const counted = await data.binaryDataByFilter({ countOnly: true });
  assert.deepEqual([counted.count, counted.totalSizeBytes, counted.data.length], [5n, 15n, 0]);
  const wrong = await failure(data.binaryDataByFilter({ dataRequest: { last: "%" } }));
  assert.equal(wrong.code, Code.InvalidArgument);
});

Deno.test("BinaryDataByFilter() gives what every part of the filter allows", async () => {
  const { cloud, made, ids, data } = await withImages(4);
  await using _ = cloud;
  const [first = "", second = "", third = "", fourth = ""] = ids;
  const datasets = cloud.client(DatasetService, apiKey(made));
  const { id: datasetId } = await datasets.createDataset({
    organizationId: made.org_id,
    name: "some",
  });
  await data.addBinaryDataToDatasetByIDs({ binaryDataIds: [second], datasetId });
  await data.addBoundingBoxToImageByID({
    binaryDataId: fourth,
    label: "cat",
    xMaxNormalized: 0.5,
    yMaxNormalized: 0.5,
  });
  const cases: [Changes, string[]][] = [
    [{}, ids],
    [{ componentName: "eye", componentType: "camera", method: "ReadImage" }, ids],
    [{ componentName: "ear" }, []],
    [{ robotName: "demo", partId: made.part_id, organizationIds: [made.org_id] }, ids],
    [{ locationIds: ["elsewhere"] }, []],
    [{ mimeType: ["image/png"] }, [first]],
    [{ mimeType: ["image/png", "image/jpeg"] }, ids],
    [{ datasetId }, [second]],
    [{ bboxLabels: ["cat", "dog"] }, [fourth]],
    [{ bboxLabels: ["dog"] }, []],
    [{ tagsFilter: tags(TagsFilterType.UNSPECIFIED, ["even", "x"]) }, [first, third]],
    [{ tagsFilter: tags(TagsFilterType.TAGGED) }, [first, third]],
    [{ tagsFilter: tags(TagsFilterType.UNTAGGED) }, [second, fourth]],
    [
      { interval: interval(NOON + 1_000, NOON + 3_000) },
      [second, third],
    ],
  ];
  for (const [filter, expected] of cases) {
    const dataRequest = { filter: filter as Filter };
    assert.deepEqual(idsOf(await data.binaryDataByFilter({ dataRequest })), expected);
    const { count } = await data.binaryDataByFilter({ dataRequest, countOnly: true });
    assert.equal(count, BigInt(expected.length));
  }
});

function tags(type: TagsFilterType, tags: string[] = []) {
  return { $typeName: "viam.app.data.v1.TagsFilter" as const, type, tags };
}

function interval(from: number, to: number) {
  return {
    $typeName: "viam.app.data.v1.CaptureInterval" as const,
    start: timestampFromMs(from),
    end: timestampFromMs(to),
  };
}

Deno.test("a filter has 1,000 entries of each kind at most", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const data = cloud.client(DataService, apiKey(made));
  const many = new Array<string>(40_000).fill("a");
  const filters = {
    mime_type: { mimeType: many },
    bbox_labels: { bboxLabels: many },
    location_ids: { locationIds: many },
    organization_ids: { organizationIds: many },
    "tags_filter.tags": { tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: many } },
  };
  for (const [field, filter] of Object.entries(filters)) {
    const { code, message } = await failure(data.binaryDataByFilter({ dataRequest: { filter } }));
    assert.equal(code, Code.InvalidArgument, field);
    assert.match(message, new RegExp(`^filter.${field}: there are more than 1000`));
  }
  const few = many.slice(0, 1_000);
  const filter = { mimeType: few, bboxLabels: few, locationIds: few };
  assert.deepEqual((await data.binaryDataByFilter({ dataRequest: { filter } })).data, []);
});

Deno.test("BinaryDataByIDs() answers in order, and NOT_FOUND for what is another's", async () => {
  const { cloud, made, ids, data } = await withImages(2);
  await using _ = cloud;
  const stranger = cloud.client(
    DataService,
    apiKey(await cloud.bootstrap({ organization: "Strangers" })),
  );
  const [first = "", second = ""] = ids;
  const fileId = first.split("/")[2] ?? "";

  const found = await data.binaryDataByIDs({ binaryDataIds: [second, first] });
  assert.deepEqual(found.data.map(({ metadata }) => metadata?.binaryDataId), [second, first]);
  const about = found.data[1]?.metadata;
  assert.equal(about?.id, fileId);
  assert.equal(about.uri, `http://127.0.0.1:8080/data/files/${fileId}.png`);
  assert.equal(about.captureMetadata?.robotId, made.machine_id);
  const old = await data.binaryDataByIDs({
    binaryIds: [{ fileId, organizationId: made.org_id, locationId: made.location_id }],
    includeBinary: true,
  });
  assert.deepEqual([...old.data[0]?.binary ?? []], [0]);

  const ask = (client: typeof data, ...binaryDataIds: string[]) =>
    failure(client.binaryDataByIDs({ binaryDataIds }));
  assert.equal((await ask(stranger, first)).code, Code.NotFound);
  assert.equal((await ask(data, first, crypto.randomUUID())).code, Code.NotFound);
  assert.match((await ask(data, "nonsense")).message, /^binary_data_ids\[0\]: "nonsense" is no id/);
  assert.match((await ask(data)).message, /^binary_data_ids: there are none/);
});

Deno.test("DeleteBinaryData…() deletes rows and bytes, for those who manage the part", async () => {
  const { cloud, made, ids, data } = await withImages(5);
  await using _ = cloud;
  const stored = cloud.client(StoredDataService, apiKey(made));
  const [first = "", ...rest] = ids;
  const files = () =>
    [...Deno.readDirSync(cloud.path("data-files"))].filter((e) => e.isFile).length;

  const asPart = cloud.client(DataService, partSecret(made));
  const refused = await failure(asPart.deleteBinaryDataByIDs({ binaryDataIds: [first] }));
  assert.equal(refused.code, Code.PermissionDenied);
  assert.equal((await asPart.deleteBinaryDataByFilter({})).deletedCount, 0n);

  assert.equal((await data.deleteBinaryDataByIDs({ binaryDataIds: [first] })).deletedCount, 1n);
  assert.deepEqual(idsOf(await data.binaryDataByFilter({})), rest);
  const filter = { tagsFilter: tags(TagsFilterType.TAGGED) } as Filter;
  assert.equal((await data.deleteBinaryDataByFilter({ filter })).deletedCount, 2n);
  assert.equal(files(), 2);
  const { usage } = await stored.getDataSettings({ organizationId: made.org_id });
  assert.deepEqual([usage?.files, usage?.fileBytes], [2n, 6n]);
});

Deno.test("tags of files are added, listed and removed", async () => {
  const { cloud, made, ids, data } = await withImages(3);
  await using _ = cloud;
  const [first = "", second = ""] = ids;
  const all = async (filter?: Changes) =>
    (await data.tagsByFilter({ filter: filter as Filter })).tags;

  await data.addTagsToBinaryDataByIDs({ binaryDataIds: [first, second], tags: ["new", "new"] });
  await data.addTagsToBinaryDataByFilter({ tags: ["all"] });
  assert.deepEqual(await all(), ["all", "even", "new"]);
  assert.deepEqual(await all({ mimeType: ["image/png"] }), ["all", "even", "new"]);
  const removed = await data.removeTagsFromBinaryDataByIDs({
    binaryDataIds: ids,
    tags: ["new", "none"],
  });
  assert.equal(removed.deletedCount, 2n);
  const everywhere = await data.removeTagsFromBinaryDataByFilter({ tags: ["all", "even"] });
  assert.equal(everywhere.deletedCount, 5n);
  assert.deepEqual(await all(), []);

  const wrong = await failure(
    data.addTagsToBinaryDataByIDs({ binaryDataIds: [first], tags: ["x", ""] }),
  );
  assert.match(wrong.message, /^tags\[1\]: a tag has 1 to/);
  const asPart = cloud.client(DataService, partSecret(made));
  const refused = asPart.addTagsToBinaryDataByIDs({ binaryDataIds: [first], tags: ["x"] });
  assert.equal((await failure(refused)).code, Code.PermissionDenied);
});

Deno.test("bounding boxes are added, changed, listed and removed", async () => {
  const { cloud, ids, data } = await withImages(2);
  await using _ = cloud;
  const [binaryDataId = "", other = ""] = ids;
  const boxes = async () => {
    const found = await data.binaryDataByIDs({ binaryDataIds: [binaryDataId] });
    return found.data[0]?.metadata?.annotations?.bboxes ?? [];
  };
  const corners = {
    xMinNormalized: 0.1,
    yMinNormalized: 0.2,
    xMaxNormalized: 0.3,
    yMaxNormalized: 1,
  };
  const { bboxId } = await data.addBoundingBoxToImageByID({
    binaryDataId,
    label: "cat",
    ...corners,
  });
  const [box] = await boxes();
  assert.deepEqual({ ...box, $typeName: undefined }, {
    $typeName: undefined,
    id: bboxId,
    label: "cat",
    ...corners,
  });

  await data.updateBoundingBox({ binaryDataId, bboxId, label: "dog", confidence: 0.5 });
  assert.deepEqual([(await boxes())[0]?.label, (await boxes())[0]?.confidence], ["dog", 0.5]);
  assert.deepEqual((await data.boundingBoxLabelsByFilter({})).labels, ["dog"]);

  const cases: [() => Promise<unknown>, Code, RegExp][] = [
    [
      () => data.addBoundingBoxToImageByID({ binaryDataId, ...corners }),
      Code.InvalidArgument,
      /^label: /,
    ],
    [
      () =>
        data.addBoundingBoxToImageByID({
          binaryDataId,
          label: "x",
          ...corners,
          yMaxNormalized: 1.5,
        }),
      Code.InvalidArgument,
      /^y_max_normalized: 1\.5 does not lie/,
    ],
    [
      () => data.updateBoundingBox({ binaryDataId, bboxId, xMinNormalized: 0.4 }),
      Code.InvalidArgument,
      /^x_max_normalized: it must be greater/,
    ],
    [
      () => data.updateBoundingBox({ binaryDataId: other, bboxId, label: "x" }),
      Code.NotFound,
      /^no bounding box/,
    ],
    [
      () => data.removeBoundingBoxFromImageByID({ binaryDataId, bboxId: crypto.randomUUID() }),
      Code.NotFound,
      /^no bounding box/,
    ],
  ];
  for (const [call, code, message] of cases) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, code);
  }
  await data.removeBoundingBoxFromImageByID({ binaryDataId, bboxId });
  assert.deepEqual(await boxes(), []);
});
