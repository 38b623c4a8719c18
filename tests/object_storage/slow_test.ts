/** A cloud whose object storage lets it wait for answers. */
import assert from "node:assert/strict";
import { NOON, uploadImage, uploadTemperatures } from "../../cloud/data/ingest/data_testing.ts";
import { apiKey, TestCloud } from "../../cloud/serve/cloud_testing.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { StoredDataService } from "../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { S3Server } from "./s3_server.ts";

const DEADLINE = { deadlineMs: 90_000 };
const DAY_MS = 24 * 60 * 60_000;
const UPLOADS = 5;
const SLOW = { times: 1_000, status: 200 };

Deno.test("all else goes on while the object storage does not answer, and nothing is lost", async () => {
  await using server = await S3Server.start();
  const clock = new FakeClock(new Date(NOON));
  await using cloud = await TestCloud.open({ clock, objectStorage: server.settings() });
  const { org_id: organizationId, part_id: partId, ...key } = await cloud.bootstrap();
  const identity = apiKey({ ...key, org_id: organizationId, part_id: partId });
  const sync = cloud.client(DataSyncService, identity);
  const data = cloud.client(DataService, identity);
  const settings = cloud.client(StoredDataService, identity);
  await uploadTemperatures(sync, partId, NOON, [1, 2, 3]);
  const kept = await uploadImage(sync, partId, NOON, new Uint8Array([42]));
  clock.setNow(NOON + 3 * DAY_MS);
  await settings.setDataSettings({ organizationId, settings: { archiveAfterDays: 1 } });

  await server.setFaults([
    { method: "PUT", contains: "data-", ...SLOW },
    { method: "GET", contains: "data-", ...SLOW },
  ]);
  await server.requests();
  let answered = 0;
  const slow = <T>(call: Promise<T>) => call.finally(() => answered++);
  const uploads = Array.from(
    { length: UPLOADS },
    (_, n) => slow(uploadImage(sync, partId, NOON + 1 + n, new Uint8Array([n]))),
  );
  const read = slow(data.binaryDataByIDs({ binaryDataIds: [kept], includeBinary: true }));
  const moved = slow(cloud.services.dataUpkeep.archiveOld());
  const waiting = new Set<string>();
  await waitFor(async () => {
    for (const request of await server.requests()) waiting.add(request);
    return waiting.size >= UPLOADS + 2;
  }, DEADLINE);

  await uploadTemperatures(sync, partId, NOON + 3 * DAY_MS, [4, 5]);
  const rows = async () => (await data.tabularDataByFilter({ dataRequest: { limit: 9n } })).data;
  assert.equal((await rows()).length, 5);
  const { count } = await data.binaryDataByFilter({ countOnly: true });
  assert.equal(count, 1n, "an upload is there when the storage has it");
  assert.equal(answered, 0, [...waiting].join("\n"));

  await server.setFaults([]);
  const ids = await Promise.all(uploads);
  assert.deepEqual((await read).data.map(({ binary }) => [...binary]), [[42]]);
  assert.deepEqual(await moved, { readings: 3, files: 1 });
  assert.equal((await rows()).length, 5);
  const { data: files } = await data.binaryDataByIDs({ binaryDataIds: ids, includeBinary: true });
  assert.deepEqual(files.map(({ binary }) => binary[0]).sort(), [0, 1, 2, 3, 4]);
});
