import assert from "node:assert/strict";
import { CredentialsType, RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("the main part of a machine sees its other parts as remotes", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const { partId } = await app.newRobotPart({ robotId: made.machine_id, partName: "arm" });
  await app.newRobotPart({ robotId: made.machine_id, partName: "own" });
  await app.updateRobotPart({
    id: made.part_id,
    robotConfig: { remotes: [{ name: "own", address: "10.0.0.1:8080" }] },
  });
  const { part: arm } = await app.getRobotPart({ id: partId });
  const { auth } = await app.locationAuth({ locationId: made.location_id });
  const { config } = await cloud.client(RobotService, partSecret(made))
    .config({ id: made.part_id });
  const { config: ofArm } = await cloud.client(RobotService, {
    type: "robot-secret",
    entity: partId,
    payload: arm?.secret ?? "",
  }).config({ id: partId });

  assert.deepEqual(config?.remotes.map(({ name, address }) => [name, address]), [
    ["own", "10.0.0.1:8080"],
    ["arm", arm?.fqdn],
  ]);
  const credentials = config?.remotes[1]?.auth?.credentials;
  assert.equal(credentials?.type, CredentialsType.ROBOT_LOCATION_SECRET);
  assert.equal(credentials?.payload, auth?.secrets[0]?.secret);
  assert.deepEqual(ofArm?.remotes, []);
});
