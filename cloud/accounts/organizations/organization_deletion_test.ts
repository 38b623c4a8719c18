import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { serialize } from "bson";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { StoredDataService } from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { EnrollmentService } from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { NOON, uploadImage, uploadTemperatures } from "../../data/ingest/data_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("an organisation is deleted when it is empty, and says what is in the way before", async () => {
  await using cloud = await TestCloud.open();
  await cloud.bootstrap();
  const made = await cloud.bootstrap({ organization: "Other", location: "There" });
  const organizationId = made.org_id;
  const app = cloud.app(made);
  const data = cloud.client(DataService, apiKey(made));
  const datasets = cloud.client(DatasetService, apiKey(made));
  const sync = cloud.client(DataSyncService, partSecret(made));

  await uploadTemperatures(sync, made.part_id, NOON, [20, 21]);
  await uploadImage(sync, made.part_id, NOON, new Uint8Array(100));
  await cloud.client(StoredDataService, apiKey(made))
    .setDataSettings({ organizationId, settings: { quotaBytes: 5_000n } });
  await cloud.client(EnrollmentService, apiKey(made))
    .createEnrollmentToken({ locationId: made.location_id, name: "kiosks" });
  await data.createSavedQuery({
    organizationId,
    name: "all",
    mqlBinary: [new Uint8Array(serialize({ $match: {} }))],
  });
  const { fragment } = await app.createFragment({ name: "base", organizationId, config: {} });
  const { id } = await datasets.createDataset({ organizationId, name: "shapes" });

  const inTheWay: readonly (readonly [RegExp, () => Promise<unknown>])[] = [
    [/has machines; delete them first/, () => app.deleteRobot({ id: made.machine_id })],
    [/has fragments/, () => app.deleteFragment({ id: fragment!.id })],
    [
      /has captured data/,
      () => data.deleteBinaryDataByFilter({ filter: { organizationIds: [organizationId] } }),
    ],
    [/has datasets/, () => datasets.deleteDataset({ id })],
    [/has captured data/, () => data.deleteTabularData({ organizationId })],
  ];
  for (const [reason, remove] of inTheWay) {
    const refused = await failure(app.deleteOrganization({ organizationId }));
    assert.equal(refused.code, Code.FailedPrecondition);
    assert.match(refused.message, reason);
    await remove();
  }
  await app.deleteOrganization({ organizationId });
  const gone = await failure(app.getOrganization({ organizationId }));
  assert.equal(gone.code, Code.Unauthenticated, "its key went with it");
});
