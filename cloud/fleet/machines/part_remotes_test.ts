import assert from "node:assert/strict";
import { ConfigurationService } from "../../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { CredentialsType, RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { TAKES_HASHES_HEADER } from "../../../shared/rights/hashed_access.ts";
import { apiKey, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

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

  // A server of ours gets no secret of its location: it calls its parts as itself.
  const headers = { [TAKES_HASHES_HEADER]: "1" };
  const { config: ours } = await cloud.client(RobotService, partSecret(made))
    .config({ id: made.part_id }, { headers });
  const added = ours?.remotes.find(({ name }) => name === "arm");
  assert.equal(added?.address, arm?.fqdn);
  assert.equal(added?.auth, undefined);
});

Deno.test("the main part's history says which remotes came, changed and went with other parts", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const history = cloud.client(ConfigurationService, apiKey(made));
  const newest = async (partId = made.part_id) => {
    const { revisions: [newest] } = await history.listRevisions({ partId });
    const { number, added, changed, removed } = newest!;
    return { number: Number(number), added, changed, removed };
  };
  const before = await cloud.client(RobotService, partSecret(made)).config({ id: made.part_id });
  const events = cloud.services.watchers.follow({ id: made.part_id, orgId: made.org_id });
  const { partId } = await app.newRobotPart({ robotId: made.machine_id, partName: "arm" });
  assert.deepEqual(await newest(), { number: 2, added: ["remotes.arm"], changed: [], removed: [] });
  const signal = AbortSignal.timeout(60_000);
  assert.deepEqual(await events.take(cloud.clock, 5_000, signal), ["config"]);
  events.close();
  const after = await cloud.client(RobotService, partSecret(made)).config({ id: made.part_id });
  assert.notEqual(after.config?.revision, before.config?.revision);

  await app.updateRobotPart({ id: partId, name: "gripper" });
  assert.deepEqual(await newest(), {
    ...{ number: 3, added: ["remotes.gripper"], changed: [], removed: ["remotes.arm"] },
  });
  const { location } = await app.createLocation({ name: "Hall", organizationId: made.org_id });
  await app.updateRobot({ id: made.machine_id, location: location?.id ?? "" });
  assert.deepEqual((await newest()).changed, ["remotes.gripper"]);
  await app.markPartAsMain({ partId });
  assert.deepEqual((await newest()).removed, ["remotes.gripper"]);
  assert.deepEqual((await newest(partId)).added, ["remotes.demo-main"]);
  await app.markPartAsMain({ partId: made.part_id });
  await app.deleteRobotPart({ partId });
  assert.deepEqual((await newest()).removed, ["remotes.gripper"]);
  const { part } = await app.getRobotPart({ id: made.part_id });
  assert.equal(part?.robotConfigJson, "{}", "what people saved stays as it is");

  // A remote of its own hides the part: nothing changes.
  const own = { remotes: [{ name: "own", address: "10.0.0.1:8080" }] };
  await app.updateRobotPart({ id: made.part_id, robotConfig: own });
  const { number } = await newest();
  await app.newRobotPart({ robotId: made.machine_id, partName: "own" });
  assert.equal((await newest()).number, number);
});
