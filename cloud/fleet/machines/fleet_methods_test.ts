import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

async function opened() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  /** A client with a key of its own. */
  const withRole = async (resourceType: string, resourceId: string, role: string) => {
    const authorizations = [{
      authorizationType: "role",
      authorizationId: `${resourceType}_${role}`,
      resourceType,
      resourceId,
    }];
    const { id, key } = await app.createKey({ name: role, authorizations });
    return cloud.client(AppService, { type: "api-key", entity: id, payload: key });
  };
  return { cloud, made, app, withRole };
}

/** A part as its own server signs in. */
async function serverOf(cloud: TestCloud, app: ReturnType<TestCloud["app"]>, id: string) {
  const { part } = await app.getRobotPart({ id });
  const secret = { type: "robot-secret", entity: id, payload: part!.secrets[0]!.secret };
  return cloud.client(RobotService, secret);
}

Deno.test("NewRobot() makes a machine that its server can use, UpdateRobot() renames it, DeleteRobot() ends it", async () => {
  const { cloud, made, app } = await opened();
  await using _ = cloud;
  const { id } = await app.newRobot({ name: "arm-1", location: made.location_id });
  const { parts: [part] } = await app.getRobotParts({ robotId: id });
  assert.deepEqual([part?.name, part?.mainPart], ["arm-1-main", true]);
  const server = await serverOf(cloud, app, part!.id);
  assert.equal((await server.config({ id: part!.id })).config?.cloud?.id, part!.id);
  const { apiKeys: [key] } = await app.getRobotAPIKeys({ robotId: id });

  const { robot } = await app.updateRobot({ id, name: "arm-2" });
  assert.equal(robot?.name, "arm-2");
  await app.deleteRobot({ id });

  assert.equal((await failure(app.getRobot({ id }))).code, Code.NotFound);
  assert.equal((await failure(server.config({ id: part!.id }))).code, Code.Unauthenticated);
  const owner = cloud.client(AppService, {
    type: "api-key",
    entity: key!.apiKey!.id,
    payload: key!.apiKey!.key,
  });
  assert.equal((await failure(owner.listOrganizations({}))).code, Code.Unauthenticated);
  const { apiKeys } = await app.listKeys({ orgId: made.org_id });
  assert.ok(!apiKeys.some((each) => each.apiKey?.id === key!.apiKey!.id), "a key of nothing ends");
  // What was reported of the deleted part meanwhile is dropped without an error.
  await cloud.services.presence.write();
  assert.equal((await app.listRobots({ locationId: made.location_id })).robots.length, 1);
});

Deno.test("names of machines and parts are checked, and taken once", async () => {
  const { cloud, made, app } = await opened();
  await using _ = cloud;
  const location = made.location_id;
  for (const name of ["", "a b", "../x", "é", "-a", "x".repeat(61)]) {
    assert.equal((await failure(app.newRobot({ name, location }))).code, Code.InvalidArgument);
    const part = app.newRobotPart({ robotId: made.machine_id, partName: name });
    assert.equal((await failure(part)).code, Code.InvalidArgument);
  }
  const taken = await failure(app.newRobot({ name: "demo", location }));
  assert.deepEqual(taken, {
    code: Code.AlreadyExists,
    message: 'name: the location has another machine named "demo"',
  });
  const { id } = await app.newRobot({ name: "other", location });
  assert.equal((await failure(app.updateRobot({ id, name: "demo" }))).code, Code.AlreadyExists);
  assert.equal((await app.updateRobot({ id, name: "other" })).robot?.name, "other");
  const main = app.newRobotPart({ robotId: made.machine_id, partName: "demo-main" });
  assert.equal((await failure(main)).code, Code.AlreadyExists);
  const both = await Promise.allSettled([1, 2].map(() => app.newRobot({ name: "race", location })));
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
});

Deno.test("NewRobotPart(), MarkPartAsMain() and DeleteRobotPart() keep one main part", async () => {
  const { cloud, made, app } = await opened();
  await using _ = cloud;
  const robotId = made.machine_id;
  const { partId } = await app.newRobotPart({ robotId, partName: "camera" });
  const server = await serverOf(cloud, app, partId);
  assert.ok((await server.config({ id: partId })).config);
  const mains = async () =>
    (await app.getRobotParts({ robotId })).parts.filter(({ mainPart }) => mainPart)
      .map(({ id }) => id);

  const refused = await failure(app.deleteRobotPart({ partId: made.part_id }));
  assert.equal(refused.code, Code.FailedPrecondition);
  assert.match(refused.message, /main part.*make another one/);
  await app.markPartAsMain({ partId });
  assert.deepEqual(await mains(), [partId]);
  await app.deleteRobotPart({ partId: made.part_id });
  assert.equal((await failure(app.getRobotPart({ id: made.part_id }))).code, Code.NotFound);
  const old = cloud.client(RobotService, partSecret(made));
  assert.equal((await failure(old.config({ id: made.part_id }))).code, Code.Unauthenticated);
  assert.deepEqual(await mains(), [partId]);

  const label = (await app.getRobotPart({ id: partId })).part!;
  for (const name of [label.dnsName, label.name]) {
    const found = await app.getRobotPartByNameAndLocation({ name, locationId: made.location_id });
    assert.equal(found.part?.id, partId);
  }
  const nobody = app.getRobotPartByNameAndLocation({ name: "x", locationId: made.location_id });
  assert.equal((await failure(nobody)).code, Code.NotFound);
});

Deno.test("UpdateRobot() moves a machine with its host names, and only who owns both places may", async () => {
  const { cloud, made, app, withRole } = await opened();
  await using _ = cloud;
  const { location } = await app.createLocation({ organizationId: made.org_id, name: "Hall" });
  const id = made.machine_id;
  const ownsMachine = await withRole("robot", id, "owner");
  const taken = ownsMachine.updateRobot({ id, location: location!.id });
  assert.equal((await failure(taken)).code, Code.NotFound, "the other location is not seen");
  const ownsTarget = await withRole("location", location!.id, "owner");
  assert.equal(
    (await failure(ownsTarget.updateRobot({ id, location: location!.id }))).code,
    Code.NotFound,
  );

  const moved = await app.updateRobot({ id, location: location!.id });
  assert.equal(moved.robot?.location, location!.id);
  const { part } = await app.getRobotPart({ id: made.part_id });
  assert.equal(part?.locationId, location!.id);
  assert.ok(part?.fqdn.includes(`.${location!.id}.`), part?.fqdn);
  assert.equal((await ownsTarget.getRobot({ id })).robot?.id, id);

  // The same host name at the target is refused, whole.
  const { id: second } = await app.newRobot({ name: "demo", location: made.location_id });
  const clash = await failure(app.updateRobot({ id: second, location: location!.id, name: "new" }));
  assert.equal(clash.code, Code.AlreadyExists);
  assert.equal((await app.getRobot({ id: second })).robot?.location, made.location_id);
});

Deno.test("locations are made, renamed and deleted when they are empty", async () => {
  const { cloud, made, app } = await opened();
  await using _ = cloud;
  const organizationId = made.org_id;
  const { location } = await app.createLocation({ organizationId, name: "Hall 2" });
  assert.equal(location?.auth?.secrets.length, 1);
  const locationId = location!.id;
  assert.equal((await app.updateLocation({ locationId, name: "Hall 3" })).location?.name, "Hall 3");
  const { organizationIdentities } = await app.getOrganizationsWithAccessToLocation({ locationId });
  assert.deepEqual(organizationIdentities.map(({ id, name }) => [id, name]), [[
    made.org_id,
    "Acme",
  ]]);
  for (const name of ["", " ", "a\u0000b", "x".repeat(101)]) {
    const call = app.createLocation({ organizationId, name });
    assert.equal((await failure(call)).code, Code.InvalidArgument);
  }
  const full = await failure(app.deleteLocation({ locationId: made.location_id }));
  assert.equal(full.code, Code.FailedPrecondition);
  assert.match(full.message, /demo/);
  await app.deleteLocation({ locationId });
  assert.equal((await app.listLocations({ organizationId })).locations.length, 1);
  assert.equal(
    (await app.updateOrganization({ organizationId, name: "B" })).organization?.name,
    "B",
  );
  const region = await failure(app.updateOrganization({ organizationId, region: "us" }));
  assert.equal(region.code, Code.InvalidArgument);
});

Deno.test("ListMachineSummaries() tells locations, machines and parts, as far as the limit", async () => {
  const { cloud, made, app } = await opened();
  await using _ = cloud;
  const organizationId = made.org_id;
  const { location } = await app.createLocation({ organizationId, name: "A hall" });
  for (const name of ["b", "a"]) await app.newRobot({ name, location: location!.id });
  await app.newRobotPart({ robotId: made.machine_id, partName: "camera" });
  const platform = "linux/amd64";
  await cloud.client(RobotService, partSecret(made))
    .config({ id: made.part_id, agentInfo: { platform, os: "linux" } });
  const told = async (more: object = {}) =>
    (await app.listMachineSummaries({ organizationId, ...more })).locationSummaries.map((each) => [
      each.locationName,
      each.machineSummaries.map((machine) => [
        machine.machineName,
        ...machine.partSummaries.map(({ partName }) => partName),
      ]),
    ]);

  const lab = ["Lab", [["demo", "demo-main", "camera"]]];
  assert.deepEqual(await told(), [["A hall", [["a", "a-main"], ["b", "b-main"]]], lab]);
  assert.deepEqual(await told({ locationIds: [made.location_id] }), [lab]);
  assert.deepEqual(await told({ limit: 1 }), [["A hall", [["a", "a-main"]]]]);
  assert.deepEqual(await told({ fragmentIds: ["f"] }), []);
  assert.equal((await failure(told({ limit: 0 }))).code, Code.InvalidArgument);
  const { locationSummaries } = await app.listMachineSummaries({ organizationId });
  assert.equal(locationSummaries[1]?.machineSummaries[0]?.partSummaries[0]?.platform, platform);
  assert.equal((await app.listRobotsForOrg({ orgId: organizationId })).robots.length, 3);
  const locationIds = [location!.id];
  assert.equal((await app.listRobotsForLocations({ locationIds })).robots.length, 2);
});

Deno.test("RenameKey(), RotateKey() and the copy of a key", async () => {
  const { cloud, made, app, withRole } = await opened();
  await using _ = cloud;
  const operator = await withRole("robot", made.machine_id, "operator");
  const { apiKeys } = await app.listKeys({ orgId: made.org_id });
  const id = apiKeys.find((each) => each.apiKey?.name === "operator")!.apiKey!.id;
  assert.deepEqual((({ id, name }) => [id, name])(await app.renameKey({ id, name: "tablet" })), [
    id,
    "tablet",
  ]);
  const copy = await app.createKeyFromExistingKeyAuthorizations({ id });
  const next = await app.rotateKey({ id });
  assert.notEqual(next.key, copy.key);
  assert.equal((await failure(operator.listOrganizations({}))).code, Code.Unauthenticated);
  for (const { id: entity, key: payload } of [copy, next]) {
    const client = cloud.client(AppService, { type: "api-key", entity, payload });
    assert.equal((await client.getRobot({ id: made.machine_id })).robot?.name, "demo");
    const denied = await failure(client.updateRobot({ id: made.machine_id, name: "x" }));
    assert.equal(denied.code, Code.PermissionDenied);
  }
  const names = (await app.listKeys({ orgId: made.org_id })).apiKeys.map((each) =>
    each.apiKey?.name
  );
  assert.equal(names.filter((name) => name === "tablet").length, 2);
  assert.equal((await failure(app.rotateKey({ id }))).code, Code.NotFound);
});

Deno.test("operators and parts change nothing of the fleet", async () => {
  const { cloud, made, app, withRole } = await opened();
  await using _ = cloud;
  const { partId } = await app.newRobotPart({ robotId: made.machine_id, partName: "camera" });
  const keys = (await app.listKeys({ orgId: made.org_id })).apiKeys.map((each) => each.apiKey!.id);
  const clients = {
    operator: await withRole("organization", made.org_id, "operator"),
    "operator of the machine": await withRole("robot", made.machine_id, "operator"),
    part: cloud.client(AppService, partSecret(made)),
  };
  for (const [who, client] of Object.entries(clients)) {
    const calls: Record<string, () => Promise<unknown>> = {
      newRobot: () => client.newRobot({ name: "n", location: made.location_id }),
      updateRobot: () => client.updateRobot({ id: made.machine_id, name: "n" }),
      deleteRobot: () => client.deleteRobot({ id: made.machine_id }),
      newRobotPart: () => client.newRobotPart({ robotId: made.machine_id, partName: "n" }),
      deleteRobotPart: () => client.deleteRobotPart({ partId }),
      markPartAsMain: () => client.markPartAsMain({ partId }),
      createLocation: () => client.createLocation({ organizationId: made.org_id, name: "n" }),
      updateLocation: () => client.updateLocation({ locationId: made.location_id, name: "n" }),
      deleteLocation: () => client.deleteLocation({ locationId: made.location_id }),
      updateOrganization: () =>
        client.updateOrganization({ organizationId: made.org_id, name: "n" }),
      renameKey: () => client.renameKey({ id: keys[0]!, name: "n" }),
      rotateKey: () => client.rotateKey({ id: keys[0]! }),
      copyKey: () => client.createKeyFromExistingKeyAuthorizations({ id: keys[0]! }),
    };
    for (const [name, call] of Object.entries(calls)) {
      const { code } = await failure(call());
      assert.ok(
        code === Code.PermissionDenied || code === Code.NotFound,
        `${who}: ${name}: ${code}`,
      );
    }
  }
  assert.equal((await app.getRobotParts({ robotId: made.machine_id })).parts.length, 2);
});
