// Organisations, people, locations, keys and roles, by the calls of AppClient.
import { CODE, equal, refused, sdk } from "./calls.mjs";

const names = (list) => list.map(({ name }) => name).sort();
const ids = (list) => list.map(({ id }) => id).sort();

function role(organizationId, resourceType, resourceId, name, identityId = "") {
  return new sdk.appApi.Authorization({
    authorizationType: "role",
    authorizationId: `${resourceType}_${name}`,
    ...{ resourceType, resourceId, organizationId, identityId },
  });
}

async function organizations({ app, person, organization }) {
  equal(ids(await app.listOrganizations()), [organization]);
  equal((await app.getOrganization(organization)).name, "Test");
  const made = await person.createOrganization("Second");
  equal(names(await person.listOrganizations()), ["Second", "Test"]);
  equal(await person.getOrganizationNamespaceAvailability("ts-tour"), true);
  const renamed = await person.updateOrganization(
    made.id,
    "Renamed",
    "ts-tour",
  );
  equal([renamed.name, renamed.publicNamespace], ["Renamed", "ts-tour"]);
  equal(await person.getOrganizationNamespaceAvailability("ts-tour"), false);
  equal(
    await person.getAppBranding("ts-tour", "app").then(({ logoPath }) => logoPath),
    undefined,
  );
  await refused(
    person.getAppContent("ts-tour", "app"),
    CODE.unimplemented,
    "no web applications",
  );
  await person.deleteOrganization(made.id);
  await refused(person.getOrganization(made.id), CODE.notFound, made.id);
}

async function people({ app, organization, location }) {
  const ann = await app.getUserIDByEmail("ann@example.com");
  equal((await app.listOrganizationsByUser(ann)).map(({ orgId }) => orgId), [
    organization,
  ]);
  const bob = await app.getUserIDByEmail("bob@example.com");
  const emails = async () =>
    (await app.listOrganizationMembers(organization)).members.flatMap((one) => one.emails).sort();
  equal(await emails(), ["ann@example.com", "bob@example.com"]);

  const held = async () =>
    (await app.listAuthorizations(organization, [location]))
      .filter(({ identityId }) => identityId === bob).map((one) => one.authorizationId);
  await app.addRole(organization, bob, "operator", "location", location);
  equal(await held(), ["location_operator"]);
  await app.changeRole(
    role(organization, "location", location, "operator", bob),
    role(organization, "location", location, "owner", bob),
  );
  equal(await held(), ["location_owner"]);
  await app.removeRole(organization, bob, "owner", "location", location);
  equal(await held(), []);
  await app.deleteOrganizationMember(organization, bob);
  equal(await emails(), ["ann@example.com"]);

  const [cleo, operator] = [
    "cleo@example.com",
    role(organization, "location", location, "operator"),
  ];
  const invite = await app.createOrganizationInvite(
    organization,
    cleo,
    [],
    false,
  );
  equal(invite.authorizations.map((one) => one.authorizationId), [
    "organization_owner",
  ]);
  const owner = role(organization, "organization", organization, "owner");
  const changed = await app.updateOrganizationInviteAuthorizations(
    organization,
    cleo,
    [operator],
    [
      owner,
    ],
  );
  equal(changed.authorizations.map((one) => one.authorizationId), [
    "location_operator",
  ]);
  equal((await app.resendOrganizationInvite(organization, cleo)).email, cleo);
  await app.deleteOrganizationInvite(organization, cleo);
  equal((await app.listOrganizationMembers(organization)).invites, []);
}

async function locations({ app, person, organization, location }) {
  const outer = await app.createLocation(organization, "Hall");
  const inner = await app.createLocation(organization, "Shelf", outer.id);
  equal((await app.getLocation(inner.id)).parentLocationId, outer.id);
  equal(
    (await app.updateLocation(inner.id, "Rack", location)).parentLocationId,
    location,
  );
  equal(names(await app.listLocations(organization)), ["Hall", "Lab", "Rack"]);
  const [before] = (await app.locationAuth(inner.id)).secrets;
  equal((await app.createLocationSecret(inner.id)).secrets.length, 2);
  await app.deleteLocationSecret(inner.id, before.id);
  equal(
    (await app.locationAuth(inner.id)).secrets.some(({ id }) => id === before.id),
    false,
  );

  const guest = await person.createOrganization("Guest");
  const having = async () => ids(await app.getOrganizationsWithAccessToLocation(outer.id));
  await app.shareLocation(guest.id, outer.id);
  equal(await having(), [organization, guest.id].sort());
  await app.unshareLocation(guest.id, outer.id);
  equal(await having(), [organization]);
  await person.deleteOrganization(guest.id);

  const about = { floor: 2, rooms: ["a"] };
  await app.updateLocationMetadata(outer.id, about);
  equal(await app.getLocationMetadata(outer.id), about);
  await app.updateOrganizationMetadata(organization, about);
  equal(await app.getOrganizationMetadata(organization), about);
  for (const each of [inner, outer]) await app.deleteLocation(each.id);
  equal(names(await app.listLocations(organization)), ["Lab"]);
}

async function keys({ app, organization, location, machine, as }) {
  const operator = role(organization, "location", location, "operator");
  operator.identityType = "api-key";
  const opens = async ({ id, key }) => {
    const client = await as({ type: "api-key", authEntity: id, payload: key })
      .catch(() => undefined);
    return client && ids(await client.listRobots(location));
  };
  const made = await app.createKey([operator], "for tours");
  equal(await opens(made), [machine]);
  const listed = await app.listKeys(organization);
  equal(
    listed.find(({ apiKey }) => apiKey.id === made.id)?.apiKey.name,
    "for tours",
  );
  const copy = await app.createKeyFromExistingKeyAuthorizations(made.id);
  const rotated = await app.rotateKey(made.id);
  equal([await opens(made), await opens(rotated), await opens(copy)], [
    undefined,
    [machine],
    [
      machine,
    ],
  ]);
  const asked = [{
    resourceType: "robot",
    resourceId: machine,
    permissions: ["control_robot"],
  }];
  const [allowed] = await app.checkPermissions(asked);
  equal(allowed.permissions, ["control_robot"]);
  for (const { id } of [rotated, copy]) await app.deleteKey(id);
  equal(await opens(copy), undefined);
}

export const CASES = [organizations, people, locations, keys];
