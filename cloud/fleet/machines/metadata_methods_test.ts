import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("metadata of each kind are kept apart, and replaced as a whole", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const { org_id: organizationId, location_id: locationId } = made;

  await app.updateOrganizationMetadata({ organizationId, data: { of: "organization" } });
  await app.updateLocationMetadata({ locationId, data: { of: "location" } });
  await app.updateRobotMetadata({ id: made.machine_id, data: { of: "machine", x: [1] } });
  await app.updateRobotPartMetadata({ id: made.part_id, data: { of: "part" } });
  await app.updateRobotMetadata({ id: made.machine_id, data: { of: "machine" } });

  const all = await Promise.all([
    app.getOrganizationMetadata({ organizationId }),
    app.getLocationMetadata({ locationId }),
    app.getRobotMetadata({ id: made.machine_id }),
    app.getRobotPartMetadata({ id: made.part_id }),
  ]);
  assert.deepEqual(all.map(({ data }) => data), [
    { of: "organization" },
    { of: "location" },
    { of: "machine" },
    { of: "part" },
  ]);
});

Deno.test("metadata too long are refused, and those of who only sees", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const large = await failure(
    app.updateRobotMetadata({ id: made.machine_id, data: { x: "y".repeat(300_000) } }),
  );
  const bySelf = await failure(
    cloud.client(AppService, partSecret(made)).updateRobotPartMetadata({ id: made.part_id }),
  );
  assert.equal(large.code, Code.InvalidArgument);
  assert.equal(bySelf.code, Code.PermissionDenied);
  assert.deepEqual((await app.getRobotMetadata({ id: made.machine_id })).data, {});
});
