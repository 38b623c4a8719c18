import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { KeyRole, MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { addOwner } from "../../local/people/people_command.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { userByEmail } from "../people/users.ts";
import { DEEPEST_LOCATION } from "../access/location_tree.ts";

async function locationKey(
  cloud: TestCloud,
  made: BootstrapResult,
  role: string,
  locationId: string,
) {
  const { id, key } = await cloud.app(made).createKey({
    name: role,
    authorizations: [{
      authorizationType: "role",
      authorizationId: `location_${role}`,
      resourceType: "location",
      resourceId: locationId,
    }],
  });
  return cloud.client(AppService, { type: "api-key", entity: id, payload: key });
}

/** A location in another one: ids from the outside in. */
async function nested(cloud: TestCloud, made: BootstrapResult) {
  const app = cloud.app(made);
  const { location: site } = await app.createLocation({
    ...{ name: "Site", organizationId: made.org_id },
  });
  const outer = site?.id ?? "";
  const moved = await app.updateLocation({
    ...{ locationId: made.location_id, parentLocationId: outer },
  });
  assert.equal(moved.location?.parentLocationId, outer);
  return { outer, inner: made.location_id };
}

Deno.test("a role on a location counts in the locations within it, until they move out", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { outer, inner } = await nested(cloud, made);
  const owner = await locationKey(cloud, made, "owner", outer);
  await owner.updateRobotPart({ id: made.part_id, robotConfig: { debug: true } });
  const { locations } = await owner.listLocations({ organizationId: made.org_id });
  assert.deepEqual(locations.map(({ name, parentLocationId }) => [name, parentLocationId]), [
    ["Lab", outer],
    ["Site", ""],
  ]);
  const within = await owner.createLocation({
    ...{ organizationId: made.org_id, name: "Shelf", parentLocationId: inner },
  });
  await owner.newRobot({ name: "arm", location: within.location?.id ?? "" });

  // To the top, which takes an owner of the organisation.
  const out = { locationId: inner, parentLocationId: "" };
  assert.equal((await failure(owner.updateLocation(out))).code, Code.PermissionDenied);
  const { location } = await cloud.app(made).updateLocation(out);
  assert.equal(location?.parentLocationId, "");
  assert.equal((await failure(owner.getRobotPart({ id: made.part_id }))).code, Code.NotFound);
});

Deno.test("an owner of the inner location sees nothing of the outer one", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { outer, inner } = await nested(cloud, made);
  const owner = await locationKey(cloud, made, "owner", inner);
  assert.equal((await failure(owner.getLocation({ locationId: outer }))).code, Code.NotFound);
  const { location } = await owner.getLocation({ locationId: inner });
  assert.equal(location?.parentLocationId, "");
  const taken = owner.updateLocation({ locationId: inner, parentLocationId: "" });
  assert.equal((await failure(taken)).code, Code.PermissionDenied);
});

Deno.test("updateLocation() refuses circles, another organisation's location and too many levels", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const { outer, inner } = await nested(cloud, made);
  const app = cloud.app(made);
  for (const parentLocationId of [inner, outer]) {
    const { code, message } = await failure(
      app.updateLocation({ locationId: outer, parentLocationId }),
    );
    assert.equal(code, Code.InvalidArgument);
    assert.match(message, /within itself/);
  }
  const theirs = app.updateLocation({ locationId: inner, parentLocationId: other.location_id });
  assert.equal((await failure(theirs)).code, Code.NotFound);

  let deepest = inner;
  for (let level = 3; level <= DEEPEST_LOCATION; level += 1) {
    const made2 = await app.createLocation({
      ...{ organizationId: made.org_id, name: `L${level}`, parentLocationId: deepest },
    });
    deepest = made2.location?.id ?? "";
  }
  const deeper = app.createLocation({
    ...{ organizationId: made.org_id, name: "deeper", parentLocationId: deepest },
  });
  assert.match((await failure(deeper)).message, /at most 10 locations/);
  const { location: top } = await app.createLocation({
    ...{ organizationId: made.org_id, name: "top" },
  });
  const below = app.updateLocation({ locationId: outer, parentLocationId: top?.id ?? "" });
  assert.match((await failure(below)).message, /at most 10 locations/);
  const deletion = await failure(app.deleteLocation({ locationId: outer }));
  assert.equal(deletion.code, Code.FailedPrecondition);
  assert.match(deletion.message, /location Site has locations \(Lab\)/);
});

Deno.test("a shared location: its guests operate the machines and learn nothing else", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const guest = await cloud.bootstrap({ organization: "Guest" });
  const { outer, inner } = await nested(cloud, made);
  const app = cloud.app(made);
  const visitor = cloud.app(guest);
  assert.equal((await failure(visitor.getLocation({ locationId: inner }))).code, Code.NotFound);

  await app.shareLocation({ locationId: outer, organizationId: guest.org_id });
  await app.shareLocation({ locationId: outer, organizationId: guest.org_id });
  const { locations } = await visitor.listLocations({ organizationId: guest.org_id });
  assert.deepEqual(locations.map(({ name }) => name), ["Lab", "Lab", "Site"]);
  const lab = locations.find(({ id }) => id === inner);
  assert.deepEqual(
    lab?.organizations.map(({ organizationId, primary }) => [organizationId, primary]),
    [[made.org_id, true], [guest.org_id, false]],
  );
  assert.equal(lab?.primaryOrgIdentity?.name, "Acme");
  assert.equal(lab?.auth, undefined);
  const { robots } = await visitor.listRobotsForOrg({ orgId: guest.org_id });
  assert.deepEqual(
    robots.map(({ id }) => id).sort(),
    [made.machine_id, guest.machine_id].sort(),
  );
  const { part } = await visitor.getRobotPart({ id: made.part_id });
  assert.equal(part?.robotConfigJson, undefined);
  assert.equal(part?.secret, "");
  const { organizations } = await visitor.listOrganizations({});
  assert.deepEqual(organizations.map(({ name }) => name), ["Guest"]);
  const refused = {
    save: () => visitor.updateRobotPart({ id: made.part_id, robotConfig: {} }),
    keys: () => visitor.getRobotAPIKeys({ robotId: made.machine_id }),
    rename: () => visitor.updateLocation({ locationId: outer, name: "ours" }),
    share: () => visitor.shareLocation({ locationId: outer, organizationId: guest.org_id }),
  };
  for (const [what, call] of Object.entries(refused)) {
    assert.equal((await failure(call())).code, Code.PermissionDenied, what);
  }
  const { organizationIdentities } = await app.getOrganizationsWithAccessToLocation({
    locationId: inner,
  });
  assert.deepEqual(organizationIdentities.map(({ name }) => name), ["Acme", "Guest"]);
});

Deno.test("the machine is told of guests and of their end, also when the guests' keys change", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const guest = await cloud.bootstrap({ organization: "Guest" });
  const { outer, inner } = await nested(cloud, made);
  const app = cloud.app(made);
  await app.shareLocation({ locationId: outer, organizationId: guest.org_id });
  const machine = cloud.client(MachineService, partSecret(made));
  const roles = async () => {
    const { keys } = await machine.listAccessKeys({ partId: made.part_id });
    return Object.fromEntries(keys.map(({ id, role }) => [id, KeyRole[role]]));
  };
  assert.deepEqual(await roles(), {
    [made.api_key_id]: "OWNER",
    [guest.api_key_id]: "OPERATOR",
  });
  const { apiKeys } = await app.getRobotAPIKeys({ robotId: made.machine_id });
  assert.ok(!apiKeys.some((each) => each.apiKey?.id === guest.api_key_id), "not ours to list");

  const events = cloud.services.watchers.follow({ id: made.part_id, orgId: made.org_id });
  const spare = await cloud.app(guest).createKeyFromExistingKeyAuthorizations({
    id: guest.api_key_id,
  });
  await cloud.app(guest).deleteKey({ id: spare.id });
  const signal = AbortSignal.timeout(60_000);
  assert.ok((await events.take(cloud.clock, 5_000, signal)).includes("access"));
  events.close();

  const inherited = app.unshareLocation({ locationId: inner, organizationId: guest.org_id });
  assert.match((await failure(inherited)).message, /is in Site, which is shared/);
  // The guests may leave.
  await cloud.app(guest).unshareLocation({ locationId: outer, organizationId: guest.org_id });
  assert.equal((await roles())[guest.api_key_id], undefined);
  const after = cloud.client(AppService, apiKey(guest)).getRobot({ id: made.machine_id });
  assert.equal((await failure(after)).code, Code.NotFound);
  const again = app.unshareLocation({ locationId: outer, organizationId: guest.org_id });
  assert.equal((await failure(again)).code, Code.NotFound);
});

Deno.test("updateRobot() moves no machine to another organisation, also for who owns both", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const { queries } = cloud.folder.database;
  const deps = { clock: cloud.clock, random: systemRandom };
  for (const orgId of [made.org_id, other.org_id]) {
    await addOwner(queries, { email: "both@example.com", orgId }, deps);
  }
  const user = await userByEmail(queries, "both@example.com");
  const { accessToken } = await cloud.services.accounts.sessions
    .start(user!.id, "password", { address: "127.0.0.1", client: "test" });
  const app = cloud.client(AppService);
  const moved = app.updateRobot(
    { id: made.machine_id, location: other.location_id },
    { headers: { authorization: `Bearer ${accessToken}` } },
  );
  const { code, message } = await failure(moved);
  assert.equal(code, Code.InvalidArgument);
  assert.match(message, /another organisation/);
});
