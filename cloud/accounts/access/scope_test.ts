import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { AgentDeviceService } from "../../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { ConfigurationService } from "../../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { ConsoleService, MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { Scope } from "./scope.ts";
import {
  apiKey,
  type Credentials,
  failure,
  partSecret,
  TestCloud,
} from "../../serve/cloud_testing.ts";

Deno.test("Scope shows another organisation nothing, as if it did not exist", async () => {
  await using cloud = await TestCloud.open();
  const ours = await cloud.bootstrap({ organization: "Acme" });
  const madeThere = await cloud.bootstrap({ organization: "Other" });
  const { fragment } = await cloud.app(madeThere)
    .createFragment({ name: "theirs", organizationId: madeThere.org_id });
  const theirs = { ...madeThere, fragment_id: fragment?.id ?? "" };
  const unknown = {
    fragment_id: crypto.randomUUID(),
    org_id: crypto.randomUUID(),
    location_id: "zzzzzzzzzz",
    machine_id: crypto.randomUUID(),
    part_id: crypto.randomUUID(),
    api_key_id: crypto.randomUUID(),
  };
  const app = cloud.app(ours);
  const robot = cloud.client(RobotService, apiKey(ours));
  const agent = cloud.client(AgentDeviceService, apiKey(ours));
  const machine = cloud.client(MachineService, apiKey(ours));
  const looking = cloud.client(ConsoleService, apiKey(ours));
  const configuration = cloud.client(ConfigurationService, apiKey(ours));
  type Ids = Readonly<Record<keyof typeof unknown, string>>;
  const calls: Record<string, (ids: Ids) => Promise<unknown>> = {
    getOrganization: (ids) => app.getOrganization({ organizationId: ids.org_id }),
    listLocations: (ids) => app.listLocations({ organizationId: ids.org_id }),
    getLocation: (ids) => app.getLocation({ locationId: ids.location_id }),
    listRobots: (ids) => app.listRobots({ locationId: ids.location_id }),
    getRobot: (ids) => app.getRobot({ id: ids.machine_id }),
    getRobotParts: (ids) => app.getRobotParts({ robotId: ids.machine_id }),
    getRobotPart: (ids) => app.getRobotPart({ id: ids.part_id }),
    updateRobotPart: (ids) => app.updateRobotPart({ id: ids.part_id, robotConfig: {} }),
    getRobotPartHistory: (ids) => app.getRobotPartHistory({ id: ids.part_id }),
    getRobotPartLogs: (ids) => app.getRobotPartLogs({ id: ids.part_id }),
    tailRobotPartLogs: (ids) => first(app.tailRobotPartLogs({ id: ids.part_id })),
    markPartForRestart: (ids) => app.markPartForRestart({ partId: ids.part_id }),
    getRobotAPIKeys: (ids) => app.getRobotAPIKeys({ robotId: ids.machine_id }),
    listKeys: (ids) => app.listKeys({ orgId: ids.org_id }),
    deleteKey: (ids) => app.deleteKey({ id: ids.api_key_id }),
    createKey: (ids) => app.createKey({ name: "k", authorizations: [owner(ids.org_id)] }),
    createLocation: (ids) => app.createLocation({ organizationId: ids.org_id, name: "x" }),
    updateLocation: (ids) => app.updateLocation({ locationId: ids.location_id, name: "x" }),
    deleteLocation: (ids) => app.deleteLocation({ locationId: ids.location_id }),
    organizationsOf: (ids) =>
      app.getOrganizationsWithAccessToLocation({ locationId: ids.location_id }),
    updateOrganization: (ids) => app.updateOrganization({ organizationId: ids.org_id, name: "x" }),
    newRobot: (ids) => app.newRobot({ name: "x", location: ids.location_id }),
    updateRobot: (ids) => app.updateRobot({ id: ids.machine_id, name: "x" }),
    moveRobot: (ids) => app.updateRobot({ id: ours.machine_id, location: ids.location_id }),
    deleteRobot: (ids) => app.deleteRobot({ id: ids.machine_id }),
    newRobotPart: (ids) => app.newRobotPart({ robotId: ids.machine_id, partName: "x" }),
    deleteRobotPart: (ids) => app.deleteRobotPart({ partId: ids.part_id }),
    markPartAsMain: (ids) => app.markPartAsMain({ partId: ids.part_id }),
    listRobotsForOrg: (ids) => app.listRobotsForOrg({ orgId: ids.org_id }),
    listRobotsForLocations: (ids) => app.listRobotsForLocations({ locationIds: [ids.location_id] }),
    partByName: (ids) =>
      app.getRobotPartByNameAndLocation({ name: "demo-main", locationId: ids.location_id }),
    listMachineSummaries: (ids) => app.listMachineSummaries({ organizationId: ids.org_id }),
    summariesOf: (ids) =>
      app.listMachineSummaries({ organizationId: ours.org_id, locationIds: [ids.location_id] }),
    renameKey: (ids) => app.renameKey({ id: ids.api_key_id, name: "x" }),
    rotateKey: (ids) => app.rotateKey({ id: ids.api_key_id }),
    copyKey: (ids) => app.createKeyFromExistingKeyAuthorizations({ id: ids.api_key_id }),
    organizationMetadata: (ids) => app.getOrganizationMetadata({ organizationId: ids.org_id }),
    noteOrganization: (ids) => app.updateOrganizationMetadata({ organizationId: ids.org_id }),
    locationMetadata: (ids) => app.getLocationMetadata({ locationId: ids.location_id }),
    noteLocation: (ids) => app.updateLocationMetadata({ locationId: ids.location_id }),
    machineMetadata: (ids) => app.getRobotMetadata({ id: ids.machine_id }),
    noteMachine: (ids) => app.updateRobotMetadata({ id: ids.machine_id }),
    partMetadata: (ids) => app.getRobotPartMetadata({ id: ids.part_id }),
    notePart: (ids) => app.updateRobotPartMetadata({ id: ids.part_id }),
    listFragments: (ids) => app.listFragments({ organizationId: ids.org_id }),
    createFragment: (ids) => app.createFragment({ name: "x", organizationId: ids.org_id }),
    getFragment: (ids) => app.getFragment({ id: ids.fragment_id }),
    updateFragment: (ids) => app.updateFragment({ id: ids.fragment_id, name: "x" }),
    deleteFragment: (ids) => app.deleteFragment({ id: ids.fragment_id }),
    fragmentHistory: (ids) => app.getFragmentHistory({ id: ids.fragment_id }),
    fragmentUsage: (ids) => app.getFragmentUsage({ fragmentId: ids.fragment_id }),
    setFragmentTag: (ids) =>
      app.setFragmentTag({ fragmentId: ids.fragment_id, tag: "a", revision: "1" }),
    deleteFragmentTag: (ids) => app.deleteFragmentTag({ fragmentId: ids.fragment_id, tag: "a" }),
    nestedFragments: (ids) => app.listNestedFragments({ fragmentId: ids.fragment_id }),
    machineFragments: (ids) => app.listMachineFragments({ machineId: ids.machine_id }),
    defaultFragments: (ids) =>
      app.updateOrganization({
        organizationId: ours.org_id,
        defaultFragments: { fragments: [{ fragmentId: ids.fragment_id }] },
      }),
    resolvedConfig: (ids) => configuration.getResolvedConfig({ partId: ids.part_id }),
    listRevisions: (ids) => configuration.listRevisions({ partId: ids.part_id }),
    compareRevisions: (ids) => configuration.compareRevisions({ partId: ids.part_id, from: 1n }),
    restoreRevision: (ids) => configuration.restoreRevision({ partId: ids.part_id, number: 1n }),
    fragmentDrift: (ids) => configuration.getFragmentDrift({ fragmentId: ids.fragment_id }),
    config: (ids) => robot.config({ id: ids.part_id }),
    certificate: (ids) => robot.certificate({ id: ids.part_id }),
    log: (ids) => robot.log({ id: ids.part_id, logs: [{ message: "x" }] }),
    needsRestart: (ids) => robot.needsRestart({ id: ids.part_id }),
    deviceAgentConfig: (ids) => agent.deviceAgentConfig({ id: ids.part_id }),
    watch: (ids) => first(machine.watch({ partId: ids.part_id })),
    listAccessKeys: (ids) => machine.listAccessKeys({ partId: ids.part_id }),
    reportStatus: (ids) => machine.reportStatus({ partId: ids.part_id }),
    listInstalledVersions: (ids) => looking.listInstalledVersions({ partId: ids.part_id }),
    getPartLiveStatus: (ids) => looking.getPartLiveStatus({ partId: ids.part_id }),
  };

  for (const [name, call] of Object.entries(calls)) {
    const foreign = await failure(call(theirs));
    const missing = await failure(call(unknown));
    assert.equal(foreign.code, Code.NotFound, name);
    const hideId = (text: string) => text.replace(/"[^"]*"/, "ID");
    assert.deepEqual({ ...foreign, message: hideId(foreign.message) }, {
      ...missing,
      message: hideId(missing.message),
    }, name);
  }
  assert.deepEqual((await app.listOrganizations({})).organizations.map(({ name }) => name), [
    "Acme",
  ]);
  const config = await cloud.app(theirs).getRobotPart({ id: theirs.part_id });
  assert.equal(config.configJson, "{}");
});

Deno.test("Scope stays in the caller's organisation whatever its grants name", async () => {
  await using cloud = await TestCloud.open();
  const ours = await cloud.bootstrap({ organization: "Acme" });
  const theirs = await cloud.bootstrap({ organization: "Other" });
  const { queries } = cloud.folder.database;
  const grants = [
    { role: "owner", resource: "organization", id: theirs.org_id },
    { role: "owner", resource: "location", id: theirs.location_id },
    { role: "owner", resource: "robot", id: theirs.machine_id },
    { role: "self", resource: "part", id: theirs.part_id },
  ] as const;
  const actor = { type: "api-key", id: ours.api_key_id } as const;
  const scope = new Scope(queries, { actor, orgId: ours.org_id, grants });

  assert.deepEqual(await scope.locations().selectAll("locations").execute(), []);
  assert.deepEqual(await scope.machines().selectAll("machines").execute(), []);
  assert.deepEqual(await scope.parts().selectAll("parts").execute(), []);
});

Deno.test("Scope lets an operator see a machine and not manage it", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({ config: { debug: true } });
  const second = await cloud.bootstrap({ machine: "second" });
  const operator = await keyFor(cloud, made, {
    authorizationId: "robot_operator",
    resourceType: "robot",
    resourceId: made.machine_id,
  });
  const app = cloud.client(AppService, operator);

  const { robots } = await app.listRobots({ locationId: made.location_id });
  const { part } = await app.getRobotPart({ id: made.part_id });
  const other = await failure(app.getRobotPart({ id: second.part_id }));
  const save = await failure(app.updateRobotPart({ id: made.part_id, robotConfig: {} }));
  const logs = await failure(app.getRobotPartLogs({ id: made.part_id }));
  const keys = await failure(app.getRobotAPIKeys({ robotId: made.machine_id }));
  const more = await failure(app.createKey({ name: "x", authorizations: [owner(made.org_id)] }));
  const config = await failure(
    cloud.client(RobotService, operator).config({ id: made.part_id }),
  );
  const { locations } = await app.listLocations({ organizationId: made.org_id });

  assert.deepEqual(robots.map(({ id }) => id), [made.machine_id]);
  assert.equal(part?.secret, "");
  assert.equal(part?.robotConfig, undefined);
  assert.equal(other.code, Code.NotFound);
  for (const refused of [save, logs, keys, more, config]) {
    assert.equal(refused.code, Code.PermissionDenied);
  }
  assert.equal(locations[0]?.robotCount, 1);
  assert.equal(locations[0]?.auth, undefined);
});

Deno.test("CheckPermissions() gives back what the caller has", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const theirs = await cloud.bootstrap({ organization: "Other" });
  const operator = await keyFor(cloud, made, {
    authorizationId: "location_operator",
    resourceType: "location",
    resourceId: made.location_id,
  });
  const asked = {
    resourceType: "robot",
    resourceId: made.machine_id,
    permissions: ["control_robot", "read_robot_logs"],
  };
  const ask = async (credentials: Credentials, permissions = [asked]) =>
    (await cloud.client(AppService, credentials).checkPermissions({ permissions }))
      .authorizedPermissions.map((each) => each.permissions);

  assert.deepEqual(await ask(apiKey(made)), [["control_robot", "read_robot_logs"]]);
  assert.deepEqual(await ask(operator), [["control_robot"]]);
  assert.deepEqual(await ask(apiKey(theirs)), [[]]);
  const wrong = await failure(ask(operator, [{ ...asked, resourceType: "planet" }]));
  assert.equal(wrong.code, Code.InvalidArgument);
});

Deno.test("DeleteKey() ends the tokens of the key at once", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const key = await keyFor(cloud, made, owner(made.org_id));
  const theirs = cloud.client(AppService, key);
  await theirs.listOrganizations({});

  await app.deleteKey({ id: key.entity });
  const after = await failure(theirs.listOrganizations({}));
  const { apiKeys } = await app.listKeys({ orgId: made.org_id });

  assert.equal(after.code, Code.Unauthenticated);
  assert.match(after.message, /api-key credentials/);
  assert.deepEqual(apiKeys.map(({ apiKey }) => apiKey?.id), [made.api_key_id]);
});

Deno.test("Callers drop a secret that another process disabled", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const robot = cloud.client(RobotService, partSecret(made));
  await robot.config({ id: made.part_id });
  const { queries } = cloud.folder.database;
  await queries.updateTable("part_secrets").set({ state: "disabled" })
    .where("part_id", "=", made.part_id).execute();
  await queries.insertInto("changes")
    .values({ org_id: made.org_id, part_id: made.part_id, kind: "access", created_at: 0 })
    .execute();

  await cloud.services.changes.drain();
  const after = await failure(robot.config({ id: made.part_id }));

  assert.equal(after.code, Code.Unauthenticated);
  assert.match(after.message, /robot-secret/);
});

function owner(orgId: string) {
  return {
    authorizationType: "role",
    authorizationId: "organization_owner",
    resourceType: "organization",
    resourceId: orgId,
  };
}

async function keyFor(
  cloud: TestCloud,
  made: Parameters<TestCloud["app"]>[0],
  authorization: { authorizationId: string; resourceType: string; resourceId: string },
): Promise<Credentials> {
  const { id, key } = await cloud.app(made).createKey({
    name: "made in a test",
    authorizations: [{ authorizationType: "role", ...authorization }],
  });
  return { type: "api-key", entity: id, payload: key };
}

async function first<T>(messages: AsyncIterable<T>): Promise<T | undefined> {
  for await (const message of messages) return message;
}
