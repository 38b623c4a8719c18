import assert from "node:assert/strict";
import { anyPack, StringValueSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code } from "@connectrpc/connect";
import { StoredDataService } from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import {
  DataService,
  Order,
  type TabularDataByFilterResponse,
  TagsFilterType,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { NOON, sensorData, sensorMetadata, uploadTemperatures } from "./data_testing.ts";

const SECOND = 1_000;
const DAY = 24 * 3_600 * SECOND;

function temperatures({ data }: TabularDataByFilterResponse): unknown[] {
  return data.map(({ data }) => (data?.["readings"] as { temperature: number }).temperature);
}

async function exported(
  client: Client<typeof DataService>,
  partId: string,
  changes: Parameters<typeof client.exportTabularData>[0] = {},
): Promise<unknown[]> {
  const rows = client.exportTabularData({
    partId,
    resourceName: "climate",
    resourceSubtype: "rdk:component:sensor",
    methodName: "Readings",
    ...changes,
  });
  const values = [];
  for await (const { payload } of rows) {
    values.push((payload?.["readings"] as { temperature: number }).temperature);
  }
  return values;
}

Deno.test("TabularDataByFilter() pages through many sources in the order of time", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const data = cloud.client(DataService, apiKey(made));
  // Readings of three sources lie between one another, some at the same moment.
  const upload = (part: typeof made, name: string, offset: number, values: number[]) =>
    uploadTemperatures(
      cloud.client(DataSyncService, partSecret(part)),
      part.part_id,
      NOON + offset,
      values,
      { componentName: name },
    );
  await upload(made, "a", 0, [0, 10, 20, 30]);
  await upload(made, "b", 500, [5, 15, 25]);
  await upload(other, "c", 0, [1, 11, 21]);
  const expected = [0, 1, 5, 10, 11, 15, 20, 21, 25, 30];

  for (const sortOrder of [Order.UNSPECIFIED, Order.ASCENDING, Order.DESCENDING]) {
    for (const limit of [1n, 2n, 3n, 7n, 50n]) {
      const found: unknown[] = [];
      let last = "";
      do {
        const page = await data.tabularDataByFilter({ dataRequest: { limit, last, sortOrder } });
        found.push(...temperatures(page));
        assert.equal(page.count, BigInt(page.data.length));
        last = page.data.length === 0 ? "" : page.last;
      } while (last !== "");
      // Of one moment the order is that of the sources.
      const wanted = sortOrder === Order.DESCENDING ? expected.toReversed() : expected;
      assert.deepEqual(found, wanted, `limit ${limit}, order ${sortOrder}`);
    }
  }
  const page = await data.tabularDataByFilter({ dataRequest: {} });
  assert.deepEqual(
    page.data.slice(0, 3).map(({ metadataIndex }) => page.metadata[metadataIndex]?.componentName),
    ["a", "c", "b"],
  );
  assert.equal(page.metadata.length, 3);
  assert.equal(
    (await failure(data.tabularDataByFilter({ dataRequest: { last: "nonsense" } }))).code,
    Code.InvalidArgument,
  );
});

Deno.test("ExportTabularData() ends when its caller's key is revoked in the middle", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const upload = (from: number, count: number) =>
    uploadTemperatures(sync, made.part_id, from, Array.from({ length: count }, (_, at) => at));
  await upload(NOON, 3_000);
  const owner = cloud.app(made);
  const keyOn = (resourceType: string, resourceId: string) =>
    owner.createKey({
      name: resourceType,
      authorizations: [{ authorizationId: "owner", resourceType, resourceId }],
    });
  for (const [type, on] of [["robot", made.machine_id], ["organization", made.org_id]] as const) {
    const { id, key } = await keyOn(type, on);
    const data = cloud.client(DataService, { type: "api-key", entity: id, payload: key });
    let count = 0;
    const reading = (async () => {
      const climate = { resourceName: "climate", methodName: "Readings", partId: made.part_id };
      for await (const _ of data.exportTabularData(climate)) {
        count++;
        if (count === 1) await keyOn("robot", made.machine_id); // others' access changes nothing
        if (count === 100) await owner.deleteKey({ id });
      }
    })();
    assert.equal((await failure(reading)).code, Code.Unauthenticated);
    assert.ok(count >= 100 && count < 3_000, `${count}`);
  }
});

Deno.test("TabularDataByFilter() gives what every part of the filter allows", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  await uploadTemperatures(sync, made.part_id, NOON, [1, 2, 3], { tags: ["red"] });
  await uploadTemperatures(sync, made.part_id, NOON + DAY, [4], { componentType: "sensor" });
  await uploadTemperatures(sync, made.part_id, NOON, [5], {
    componentName: "wheel",
    componentType: "rdk:component:motor",
    methodName: "Position",
    tags: ["blue", "red"],
  });
  type Filter = NonNullable<
    NonNullable<Parameters<typeof data.tabularDataByFilter>[0]["dataRequest"]>["filter"]
  >;
  const cases: [Omit<Filter, "$typeName">, number[]][] = ([
    [{}, [1, 5, 2, 3, 4]],
    [{ componentName: "climate" }, [1, 2, 3, 4]],
    [{ componentType: "rdk:component:sensor" }, [1, 2, 3, 4]],
    [{ componentType: "sensor" }, [1, 2, 3, 4]],
    [{ componentType: "rdk:service:sensor" }, [4]],
    [{ method: "Position" }, [5]],
    [{ robotName: "demo" }, [1, 5, 2, 3, 4]],
    [{ robotName: "other" }, []],
    [{ robotId: made.machine_id, partName: "demo-main" }, [1, 5, 2, 3, 4]],
    [{ partId: made.part_id, method: "Readings" }, [1, 2, 3, 4]],
    [{ locationIds: [made.location_id] }, [1, 5, 2, 3, 4]],
    [{ locationIds: ["elsewhere"] }, []],
    [{ organizationIds: [made.org_id] }, [1, 5, 2, 3, 4]],
    [{ organizationIds: ["elsewhere"] }, []],
    [{ mimeType: ["image/png"] }, []],
    [{ datasetId: "some" }, []],
    [{ bboxLabels: ["cat"] }, []],
    [
      {
        interval: { start: timestampFromMs(NOON + SECOND), end: timestampFromMs(NOON + DAY) },
      },
      [2, 3],
    ],
    [{ interval: { start: timestampFromMs(NOON + DAY) } }, [4]],
    [{ interval: { end: timestampFromMs(NOON + 5) } }, []],
    [{ tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: ["blue", "green"] } }, [5]],
    [{ tagsFilter: { tags: ["red"] } }, [1, 5, 2, 3]],
    [{ tagsFilter: { type: TagsFilterType.TAGGED } }, [1, 5, 2, 3]],
    [{ tagsFilter: { type: TagsFilterType.UNTAGGED } }, [4]],
  ] as unknown) as [Omit<Filter, "$typeName">, number[]][];
  for (const [filter, expected] of cases) {
    const dataRequest = { filter: filter as Filter };
    const found = await data.tabularDataByFilter({ dataRequest });
    assert.deepEqual(temperatures(found), expected, JSON.stringify(filter, bigints));
    const counted = await data.tabularDataByFilter({ dataRequest, countOnly: true });
    assert.equal(counted.count, BigInt(expected.length), JSON.stringify(filter, bigints));
  }
});

function bigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

Deno.test("TabularDataByFilter() gives a caller only what it may see", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ location: "Elsewhere", machine: "other" });
  const stranger = await cloud.bootstrap({ organization: "Strangers" });
  for (const [value, part] of [made, other, stranger].entries()) {
    const sync = cloud.client(DataSyncService, partSecret(part));
    await uploadTemperatures(sync, part.part_id, NOON + value * SECOND, [value]);
  }
  const seen = async (credentials: Parameters<typeof cloud.client>[1]) =>
    temperatures(await cloud.client(DataService, credentials).tabularDataByFilter({}));

  assert.deepEqual(await seen(apiKey(made)), [0, 1]);
  assert.deepEqual(await seen(apiKey(stranger)), [2]);
  assert.deepEqual(await seen(partSecret(other)), [1]);
  const peeking = cloud.client(DataService, apiKey(stranger));
  assert.equal((await failure(exported(peeking, made.part_id))).code, Code.NotFound);
});

Deno.test("ExportTabularData() gives every reading of a method in order", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  // More than one statement reads; the later half is uploaded first.
  const values = Array.from({ length: 5_000 }, (_, index) => index);
  await uploadTemperatures(sync, made.part_id, NOON + 2_500 * SECOND, values.slice(2_500));
  await uploadTemperatures(sync, made.part_id, NOON, values.slice(0, 2_500));
  await uploadTemperatures(sync, made.part_id, NOON, [-1], { methodName: "Other" });

  assert.deepEqual(await exported(data, made.part_id), values);
  const interval = {
    start: timestampFromMs(NOON + 2_499 * SECOND),
    end: timestampFromMs(NOON + 2_501 * SECOND),
  };
  assert.deepEqual(await exported(data, made.part_id, { interval }), [2_499, 2_500]);
  assert.deepEqual(await exported(data, made.part_id, { resourceName: "none" }), []);
  for (const missing of ["partId", "resourceName", "methodName"]) {
    const failed = await failure(exported(data, made.part_id, { [missing]: "" }));
    assert.equal(failed.code, Code.InvalidArgument);
    assert.match(failed.message, /^(part_id|resource_name|method_name): it is missing/);
  }
});

Deno.test("GetLatestTabularData() gives the newest reading of a year, with its parameters", async () => {
  const clock = new FakeClock(new Date(NOON + 10 * SECOND));
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  const about = { partId: made.part_id, resourceName: "climate", methodName: "Readings" };
  assert.equal((await data.getLatestTabularData(about)).payload, undefined);

  await uploadTemperatures(sync, made.part_id, NOON + 3 * SECOND, [3], {
    methodParameters: {
      side: anyPack(StringValueSchema, { $typeName: "google.protobuf.StringValue", value: "left" }),
    },
  });
  await uploadTemperatures(sync, made.part_id, NOON, [0, 1, 2]);
  await uploadTemperatures(sync, made.part_id, NOON - 400 * DAY, [7], { componentName: "old" });

  const latest = await data.getLatestTabularData(about);
  assert.deepEqual(latest.payload, { readings: { temperature: 3 } });
  assert.deepEqual(latest.timeCaptured, timestampFromMs(NOON + 3 * SECOND + 5));
  assert.deepEqual(latest.timeSynced, timestampFromMs(NOON + 10 * SECOND));
  const left = await data.getLatestTabularData({
    ...about,
    additionalParameters: { side: "left" },
  });
  assert.deepEqual(left.payload, latest.payload);
  const right = { ...about, additionalParameters: { side: "right" } };
  assert.equal((await data.getLatestTabularData(right)).payload, undefined);
  assert.equal(
    (await data.getLatestTabularData({ ...about, resourceName: "old" })).payload,
    undefined,
  );
});

Deno.test("DeleteTabularData() deletes what its filter names, and no more", async () => {
  const clock = new FakeClock(new Date(NOON + 10 * DAY));
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  const stored = cloud.client(StoredDataService, apiKey(made));
  const left = async () => temperatures(await data.tabularDataByFilter({}));
  const organizationId = made.org_id;
  await uploadTemperatures(sync, made.part_id, NOON, [1, 2]);
  await uploadTemperatures(sync, made.part_id, NOON + 8 * DAY, [3], { tags: ["keep"] });
  await uploadTemperatures(sync, made.part_id, NOON + 8 * DAY + SECOND, [4]);
  await uploadTemperatures(
    cloud.client(DataSyncService, partSecret(other)),
    other.part_id,
    NOON + 9 * DAY,
    [5],
  );

  const deleted = async (
    request: Omit<Parameters<typeof data.deleteTabularData>[0], "$typeName">,
  ) => (await data.deleteTabularData({ organizationId, ...request })).deletedCount;
  assert.equal(await deleted({ deleteOlderThanDays: 5, filter: { componentName: "none" } }), 0n);
  assert.equal(await deleted({ deleteOlderThanDays: 10 }), 0n);
  assert.equal(await deleted({ deleteOlderThanDays: 9 }), 2n);
  assert.deepEqual(await left(), [3, 4, 5]);
  const untagged = { type: TagsFilterType.UNTAGGED, tags: [] };
  assert.equal(await deleted({ filter: { partId: made.part_id, tagsFilter: untagged } }), 1n);
  assert.deepEqual(await left(), [3, 5]);
  // A reading that was deleted does not come back when the machine sends it again.
  await uploadTemperatures(sync, made.part_id, NOON, [1, 2]);
  assert.deepEqual(await left(), [3, 5]);
  assert.equal(await deleted({}), 2n);
  assert.deepEqual(await left(), []);
  const { usage } = await stored.getDataSettings({ organizationId });
  assert.deepEqual([usage?.readings, usage?.readingBytes], [0n, 0n]);

  const part = cloud.client(DataService, partSecret(made));
  assert.equal(
    (await failure(part.deleteTabularData({ organizationId }))).code,
    Code.PermissionDenied,
  );
  const elsewhere = { organizationId: crypto.randomUUID() };
  assert.equal((await failure(data.deleteTabularData(elsewhere))).code, Code.NotFound);
});

Deno.test("DeleteTabularData() deletes more than one transaction holds", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  await sync.dataCaptureUpload({
    metadata: sensorMetadata(made.part_id),
    // All at one moment.
    sensorContents: Array.from({ length: 2_500 }, (_, n) => sensorData(NOON, { temperature: n })),
  });
  const { deletedCount } = await data.deleteTabularData({ organizationId: made.org_id });
  assert.equal(deletedCount, 2_500n);
  assert.equal((await data.tabularDataByFilter({ countOnly: true })).count, 0n);
});
