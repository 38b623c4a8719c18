import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { AccountService } from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { ApiKeys, insertKey } from "../../accounts/access/api_keys.ts";
import { giveRole } from "../../accounts/people/users.ts";
import { addOwner } from "../../local/people/people_command.ts";
import { failure, TestCloud } from "../../serve/cloud_testing.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { Watching } from "./watch_testing.ts";

type Made = Awaited<ReturnType<TestCloud["bootstrap"]>>;

/** A machine of two parts, another one, and what was notified since it was asked last. */
async function rig(cloud: TestCloud) {
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const app = cloud.app(made);
  const { partId } = await app.newRobotPart({ robotId: made.machine_id, partName: "arm" });
  const heard: string[] = [];
  cloud.services.changes.listen((change) => {
    if (change.kind === "access") heard.push(change.partId ?? `all of ${change.orgId}`);
  });
  return {
    ...{ made, other, app },
    parts: [made.part_id, partId].sort(),
    told: () => heard.splice(0).sort(),
  };
}

const on = (resourceType: string, resourceId: string) => ({
  ...{ authorizationId: "owner", resourceType, resourceId },
});
const all = ({ org_id }: Made) => [`all of ${org_id}`];

Deno.test("a key that comes or goes is told the parts of its machine, or all when it opens more", async () => {
  await using cloud = await TestCloud.open();
  const { made, other, app, parts, told } = await rig(cloud);

  const { id } = await app.createKey({
    name: "one machine",
    authorizations: [on("robot", made.machine_id)],
  });
  assert.deepEqual(told(), parts);
  const next = await app.rotateKey({ id });
  assert.deepEqual([...new Set(told())], parts);
  const identity = { identityType: "api-key", identityId: next.id };
  await app.addRole({ authorization: { ...on("robot", other.machine_id), ...identity } });
  assert.deepEqual(told(), [other.part_id]);
  await app.removeRole({ authorization: { ...on("robot", other.machine_id), ...identity } });
  assert.deepEqual(told(), [other.part_id]);
  await app.deleteKey({ id: next.id });
  assert.deepEqual(told(), parts);
  await app.getRobotAPIKeys({ robotId: other.machine_id });
  assert.deepEqual(told(), [other.part_id]);

  const wide = on("organization", made.org_id);
  const authorizations = [on("robot", made.machine_id), on("location", made.location_id), wide];
  const { id: wideId } = await app.createKey({ name: "wide", authorizations });
  assert.deepEqual(told(), all(made));
  const authorization = { ...wide, identityType: "api-key", identityId: wideId };
  await app.removeRole({ authorization });
  assert.deepEqual(told(), all(made));
  await app.addRole({ authorization });
  assert.deepEqual(told(), all(made));
  await app.deleteKey({ id: wideId });
  assert.deepEqual(told(), all(made));
});

Deno.test("keys and secrets of a location are told what stands in it and within it", async () => {
  await using cloud = await TestCloud.open();
  const { made, other, app, parts, told } = await rig(cloud);
  const add = async (name: string, parentLocationId: string) => {
    const { location } = await app.createLocation({
      ...{ organizationId: made.org_id, name, parentLocationId },
    });
    return location?.id ?? "";
  };
  const hall = await add("hall", "");
  const room = await add("room", hall);
  await app.updateRobot({ id: other.machine_id, name: "other", location: room });
  told();
  for (const [at, concerned] of [[made.location_id, parts], [hall, [other.part_id]]] as const) {
    const { id } = await app.createKey({ name: "wide", authorizations: [on("location", at)] });
    assert.deepEqual(told(), concerned);
    await app.deleteKey({ id });
    assert.deepEqual(told(), concerned);
    const { auth } = await app.createLocationSecret({ locationId: at });
    assert.deepEqual(told(), concerned);
    await app.deleteLocationSecret({ locationId: at, secretId: auth?.secrets.at(-1)?.id ?? "" });
    assert.deepEqual(told(), concerned);
  }
});

Deno.test("a location that is made, moved or shared is told what stands in it, a machine that goes its parts", async () => {
  await using cloud = await TestCloud.open();
  const { made, other, app, parts, told } = await rig(cloud);
  const guest = await cloud.bootstrap({ organization: "Guest", machine: "of the guest" });
  told();
  const nobody = [""];
  const add = async (name: string, parentLocationId: string) => {
    const { location } = await app.createLocation({
      ...{ organizationId: made.org_id, name, parentLocationId },
    });
    assert.deepEqual(told(), nobody);
    return location?.id ?? "";
  };
  const hall = await add("hall", "");
  const room = await add("room", hall);
  await app.updateRobot({ id: other.machine_id, name: "other", location: room });
  assert.deepEqual(told(), [other.part_id]);
  const shared = { locationId: hall, organizationId: guest.org_id };
  for (const change of ["shareLocation", "unshareLocation"] as const) {
    await app[change](shared);
    assert.deepEqual(told(), [other.part_id], change);
  }
  await app.updateLocation({ locationId: room, parentLocationId: made.location_id });
  assert.deepEqual(told(), [other.part_id]);
  await app.updateLocation({ locationId: hall, parentLocationId: made.location_id });
  assert.deepEqual(told(), nobody);
  await app.deleteLocation({ locationId: hall });
  assert.deepEqual(told(), nobody);
  await app.deleteRobot({ id: made.machine_id });
  assert.deepEqual(told(), parts);
});

Deno.test("a key that became more since it was read is told all when it goes", async () => {
  await using cloud = await TestCloud.open();
  const { made, app, told } = await rig(cloud);
  const { queries } = cloud.folder.database;
  const keys = new ApiKeys(queries, cloud.services.changes, cloud.clock, systemRandom, {
    ...{ ln: 4, r: 8, p: 1 },
  });
  for (const end of ["delete", "rotate"] as const) {
    const { id } = await app.createKey({
      name: end,
      authorizations: [on("robot", made.machine_id)],
    });
    const read = (await keys.list(made.org_id)).find((key) => key.id === id);
    assert.equal(read?.grants.length, 1);
    await app.addRole({
      authorization: {
        ...{ ...on("organization", made.org_id), identityType: "api-key", identityId: id },
      },
    });
    told();
    await keys[end](read);
    assert.deepEqual(told(), all(made), end);
  }
});

Deno.test("the key of a training job wakes no machine, and opens nothing once it is gone", async () => {
  await using cloud = await TestCloud.open();
  const { made, told } = await rig(cloud);
  const { queries } = cloud.folder.database;
  const now = cloud.clock.now();
  const key = { id: "job", orgId: made.org_id, name: "job", hash: "", grants: [] };
  await insertKey(queries, key, now);
  await cloud.services.changes.drain();
  assert.deepEqual(told(), [""]);

  const spare = await cloud.app(made).createKeyFromExistingKeyAuthorizations({
    id: made.api_key_id,
  });
  const client = cloud.client(AppService, {
    ...{ type: "api-key", entity: spare.id, payload: spare.key },
  });
  await client.listOrganizations({});
  await queries.updateTable("api_keys").set({ deleted_at: 1 }).where("id", "=", spare.id)
    .execute();
  await recordAccessChange(queries, made.org_id, [], now);
  await cloud.services.changes.drain();
  assert.equal((await failure(client.listOrganizations({}))).code, Code.Unauthenticated);
});

Deno.test("sessions and roles of people on one machine are told its parts, others all", async () => {
  await using cloud = await TestCloud.open();
  const { made, other, app, parts, told } = await rig(cloud);
  const { queries } = cloud.folder.database;
  const now = cloud.clock.now();
  const tools = { clock: cloud.clock, random: systemRandom };
  const orgId = made.org_id;
  const email = "one@example.com";
  const token = await addOwner(queries, { email, orgId }, tools) ?? "";
  const account = cloud.client(AccountService);
  await account.setPassword({ token, password: "correct horse battery" });
  /** Whom it concerns that the person signs in and out. */
  const signedOut = async () => {
    told();
    const { result } = await account.signIn({ email, password: "correct horse battery" });
    assert.ok(result.case === "signedIn");
    const headers = { authorization: `Bearer ${result.value.accessToken}` };
    await account.endSession({}, { headers });
    return told();
  };
  assert.deepEqual(await signedOut(), all(made));
  const { id: userId } = await queries.selectFrom("users").select("id").executeTakeFirstOrThrow();
  const grant = { role: "operator", resource: "robot", id: made.machine_id } as const;
  await cloud.services.changes.drain();
  told();
  await giveRole(queries, { userId, orgId, grant }, now);
  await cloud.services.changes.drain();
  assert.deepEqual(told(), parts);
  const authorization = { ...on("organization", orgId), identityType: "user", identityId: userId };
  await app.removeRole({ authorization });
  assert.deepEqual(told(), all(made));
  assert.deepEqual(await signedOut(), parts);
  await app.changeRole({
    oldAuthorization: {
      ...{ ...on("robot", made.machine_id), identityType: "user", identityId: userId },
      authorizationId: "operator",
    },
    newAuthorization: {
      ...{ ...on("robot", other.machine_id), identityType: "user", identityId: userId },
    },
  });
  assert.deepEqual(told(), [...parts, other.part_id].sort());
  await app.deleteOrganizationMember({ organizationId: orgId, userId });
  assert.deepEqual(told(), [other.part_id]);
});

Deno.test("the streams of a machine with a key of it end with the key, those of others hear nothing", async () => {
  // It stands still, so that no keepalive comes.
  await using cloud = await TestCloud.open({ clock: new FakeClock() });
  const { made, other, app, parts, told } = await rig(cloud);
  const { id, key } = await app.createKey({
    name: "one machine",
    authorizations: [on("robot", made.machine_id)],
  });
  await app.getRobotAPIKeys({ robotId: other.machine_id });
  const credentials = { type: "api-key", entity: id, payload: key };
  await using watching = new Watching(cloud, made, credentials);
  await using bystander = new Watching(cloud, other);
  await watching.has("configChanged");
  await bystander.has("configChanged");
  told();
  await app.deleteKey({ id });
  assert.deepEqual(told(), parts);
  assert.equal((await watching.ended as { code: number }).code, Code.Unauthenticated);
  await app.markPartForRestart({ partId: other.part_id });
  await bystander.has("configChanged", "restartRequested");
});
