/** A cloud that keeps its files in an object storage, and what happens when that fails. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { NOON, uploadImage, uploadTemperatures } from "../../cloud/data/ingest/data_testing.ts";
import { filePieces, imageMetadata } from "../../cloud/data/ingest/data_testing.ts";
import { apiKey, failure, TestCloud } from "../../cloud/serve/cloud_testing.ts";
import { StoredDataService } from "../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { examine } from "../../cloud/operations/doctor/doctor.ts";
import type { S3Settings } from "../../cloud/storage/blobs/s3_settings.ts";
import { S3Server } from "./s3_server.ts";

const MIB = 1024 * 1024;
const DAY_MS = 24 * 60 * 60_000;

async function rig(
  server: S3Server,
  { clock = systemClock as Clock, fileLimitBytes = 50 * MIB } = {},
) {
  const objectStorage = server.settings();
  const cloud = await TestCloud.open({ clock, fileLimitBytes, objectStorage });
  const made = await cloud.bootstrap();
  return {
    cloud,
    made,
    sync: cloud.client(DataSyncService, apiKey(made)),
    data: cloud.client(DataService, apiKey(made)),
    settings: cloud.client(StoredDataService, apiKey(made)),
    /** Requests a file by its signed link. */
    async get(binaryDataId: string, headers: Record<string, string> = {}): Promise<Response> {
      const data = cloud.client(DataService, apiKey(made));
      const { signedUrl } = await data.createBinaryDataSignedURL({ binaryDataId });
      const url = new URL(signedUrl);
      return await cloud.services.dataFiles({
        path: url.pathname.split("/").slice(2),
        method: "GET",
        header: (name) => headers[name],
        query: (name) => url.searchParams.get(name) ?? undefined,
        peer: { address: "127.0.0.1", transport: "http", isLoopback: true } as never,
      });
    },
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}

async function objects(server: S3Server, folder = "data-files"): Promise<string[]> {
  const { S3Client } = await import("../../cloud/storage/blobs/s3_client.ts");
  const client = new S3Client(server.settings(), systemClock);
  const query = { "list-type": "2", prefix: `site/${folder}/` };
  const { body } = await client.send({ method: "GET", key: "", query });
  return [...new TextDecoder().decode(body).matchAll(/<Key>([^<]*)</g)].map(([, key = ""]) => key);
}

Deno.test("files of machines go to the object storage and come back, whole and in spans", async () => {
  await using server = await S3Server.start();
  await using it = await rig(server);
  const contents = new Uint8Array(11 * MIB).map((_, n) => n * 31 >> 3);
  const metadata = imageMetadata(it.made.part_id, { type: DataType.FILE, fileName: "a.bin" });
  const { binaryDataId, fileId } = await it.sync.fileUpload(
    filePieces(metadata, contents, 60_000),
  );
  const picture = await uploadImage(it.sync, it.made.part_id, NOON, new Uint8Array([1, 2, 3]));

  assert.equal((await objects(server)).length, 2);
  assert.deepEqual([...Deno.readDirSync(it.cloud.path("data-files"))].map(({ name }) => name), [
    "incoming",
  ]);
  const whole = new Uint8Array(await (await it.get(binaryDataId)).arrayBuffer());
  const sum = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  assert.equal(sum(whole), sum(contents));
  const part = await it.get(binaryDataId, { range: "bytes=6000000-6000009" });
  assert.equal(part.status, 206);
  assert.deepEqual(new Uint8Array(await part.arrayBuffer()), contents.slice(6_000_000, 6_000_010));
  const { data } = await it.data.binaryDataByIDs({ binaryDataIds: [picture], includeBinary: true });
  assert.deepEqual(data[0]?.binary, new Uint8Array([1, 2, 3]));

  // Sent again, it is kept once.
  const again = await it.sync.fileUpload(filePieces(metadata, contents, 60_000));
  assert.equal(again.fileId, fileId);
  assert.equal((await objects(server)).length, 2);
  await it.data.deleteBinaryDataByIDs({ binaryDataIds: [binaryDataId, picture] });
  assert.deepEqual(await objects(server), []);
});

Deno.test("files from before stay in the folder and are read and deleted there", async () => {
  await using server = await S3Server.start();
  await using it = await rig(server);
  const picture = await uploadImage(it.sync, it.made.part_id, NOON, new Uint8Array([1, 2, 3]));
  const id = picture.split("/")[2] ?? "";
  await Deno.writeFile(it.cloud.path(`data-files/${id}`), new Uint8Array([1, 2, 3]));
  await server.setFaults([{ method: "GET", contains: id, times: 99, status: 404 }]);
  assert.equal((await it.get(picture)).status, 200);
  await it.data.deleteBinaryDataByIDs({ binaryDataIds: [picture] });
  await assert.rejects(Deno.stat(it.cloud.path(`data-files/${id}`)), Deno.errors.NotFound);
});

Deno.test("quota and limit hold in the object storage, and nothing is left of what they refuse", async () => {
  await using server = await S3Server.start();
  await using it = await rig(server, { fileLimitBytes: 7 * MIB });
  const organizationId = it.made.org_id;
  const upload = (bytes: number, fileName: string) =>
    it.sync.fileUpload(filePieces(
      imageMetadata(it.made.part_id, { type: DataType.FILE, fileName }),
      new Uint8Array(bytes),
      100_000,
    ));
  const large = await failure(upload(7 * MIB + 1, "large"));
  assert.equal(large.code, Code.ResourceExhausted);
  assert.match(large.message, /larger than 7340032 bytes/);
  await it.settings.setDataSettings({ organizationId, settings: { quotaBytes: BigInt(6 * MIB) } });
  await upload(5 * MIB, "first");
  for (const bytes of [MIB + 1, 6 * MIB]) {
    const refused = await failure(upload(bytes, "second"));
    assert.equal(refused.code, Code.ResourceExhausted);
    assert.match(refused.message, /may store 6291456 bytes of data/);
  }
  await upload(MIB, "to the last byte");
  const { usage } = await it.settings.getDataSettings({ organizationId });
  assert.deepEqual([usage?.files, usage?.fileBytes], [2n, BigInt(6 * MIB)]);
  assert.equal((await objects(server)).length, 2);
});

Deno.test("retention deletes from the object storage, and the sweep what could not be", async () => {
  await using server = await S3Server.start();
  const clock = new FakeClock(new Date());
  await using it = await rig(server, { clock });
  const organizationId = it.made.org_id;
  await it.settings.setDataSettings({ organizationId, settings: { retentionDays: 2 } });
  const old = [1, 2].map((n) =>
    uploadImage(it.sync, it.made.part_id, NOON + n, new Uint8Array([n]))
  );
  const [, second = ""] = await Promise.all(old);
  clock.setNow(Date.now() + 3 * DAY_MS);
  await uploadImage(it.sync, it.made.part_id, NOON, new Uint8Array([3]));
  const id = second.split("/")[2] ?? "";
  await server.setFaults([{ method: "DELETE", contains: id, times: 1, status: 503 }]);
  assert.deepEqual(await it.cloud.services.dataUpkeep.deleteOld(), { readings: 0, files: 2 });
  assert.equal((await objects(server)).length, 2);
  assert.equal(await it.cloud.services.dataUpkeep.sweep(), 1);
  assert.equal((await objects(server)).length, 1);
});

Deno.test("readings are taken, and files refused with ABORTED, while the object storage is away", async () => {
  const server = await S3Server.start();
  await using it = await rig(server);
  const kept = await uploadImage(it.sync, it.made.part_id, NOON, new Uint8Array([1]));
  await server[Symbol.asyncDispose]();

  const refused = await failure(
    uploadImage(it.sync, it.made.part_id, NOON + 1, new Uint8Array([2])),
  );
  assert.equal(refused.code, Code.Aborted);
  assert.match(refused.message, /^the cloud cannot store the file just now; nothing was saved/);
  assert.doesNotMatch(refused.message, /127\.0\.0\.1/);
  await uploadTemperatures(it.sync, it.made.part_id, NOON, [20.5]);
  const binaryDataIds = [kept];
  const read = await failure(it.data.binaryDataByIDs({ binaryDataIds, includeBinary: true }));
  assert.equal(read.code, Code.Unavailable);
  assert.equal((await it.get(kept)).status, 503);
  const { data } = await it.data.binaryDataByIDs({ binaryDataIds });
  assert.equal(data.length, 1);
});

Deno.test("old readings lie in the object storage, and queries and pages read them there", async () => {
  await using server = await S3Server.start();
  const clock = new FakeClock(new Date(NOON));
  await using it = await rig(server, { clock });
  const organizationId = it.made.org_id;
  await uploadTemperatures(it.sync, it.made.part_id, NOON, [1, 2, 3]);
  clock.setNow(NOON + 3 * DAY_MS);
  await uploadTemperatures(it.sync, it.made.part_id, NOON + 3 * DAY_MS, [4]);
  await it.settings.setDataSettings({ organizationId, settings: { archiveAfterDays: 1 } });
  const { dataUpkeep } = it.cloud.services;
  assert.deepEqual(await dataUpkeep.archiveOld(), { readings: 3, files: 1 });
  assert.equal((await objects(server, "data-archive")).length, 1);
  const sqlQuery = "SELECT data ->> '$.readings.temperature' AS t FROM readings";
  const sql = () => it.data.tabularDataBySQL({ organizationId, sqlQuery });
  assert.equal((await sql()).rawData.length, 4);
  const page = () => it.data.tabularDataByFilter({ dataRequest: { limit: 9n } });
  assert.equal((await page()).data.length, 4);

  const doctor = async (objectStorage?: S3Settings) =>
    (await examine({ dataDir: it.cloud.path("."), objectStorage }, systemClock))
      .filter(({ check }) => check === "old readings")
      .map(({ state, detail }) => `${state}: ${detail}`);
  assert.match(`${await doctor(server.settings())}`, /^ok: 1 files are there/);
  assert.match(`${await doctor()}`, /^skipped: 1 files are not in data-archive/);
  const [{ id } = { id: "" }] = await it.cloud.folder.database.queries.selectFrom("archived_files")
    .select("id").execute();
  const { S3Client } = await import("../../cloud/storage/blobs/s3_client.ts");
  const client = new S3Client(server.settings(), systemClock);
  await client.send({ method: "DELETE", key: `data-archive/${id}` });
  const lost = await doctor(server.settings());
  assert.match(`${lost}`, new RegExp(`^failed: 1 of 1 files .*: ${id} is missing$`));
});
