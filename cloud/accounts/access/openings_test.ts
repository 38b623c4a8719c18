import assert from "node:assert/strict";
import { KeyRole, MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("a machine knows the keys on what it is in, those of guests included, and no others", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const guest = await cloud.bootstrap({ organization: "Guest" });
  const stranger = await cloud.bootstrap({ organization: "Stranger" });
  const app = cloud.app(made);
  const located = async (name: string, parentLocationId = "") => {
    const wanted = { organizationId: made.org_id, name, parentLocationId };
    return (await app.createLocation(wanted)).location?.id ?? "";
  };
  const outer = await located("Site");
  const beside = await located("Beside", outer);
  const inner = made.location_id;
  await app.updateLocation({ locationId: inner, parentLocationId: outer });
  await app.shareLocation({ locationId: outer, organizationId: guest.org_id });

  const on = (type: string, resourceId: string, role = "owner") => ({
    ...{ authorizationId: role, resourceType: type, resourceId },
  });
  const keys = new Map<string, string>([
    [made.api_key_id, "bootstrap"],
    [guest.api_key_id, "guests"],
    [stranger.api_key_id, "strangers"],
    [(await app.getRobotAPIKeys({ robotId: other.machine_id })).apiKeys[0]?.apiKey?.id ?? "", ""],
  ]);
  const make = async (
    by: typeof made,
    name: string,
    ...authorizations: ReturnType<typeof on>[]
  ) => {
    const { id } = await cloud.app(by).createKey({ name, authorizations });
    keys.set(id, name);
    return id;
  };
  const operator = on("organization", made.org_id, "operator");
  await make(made, "organization", operator);
  await make(made, "parent", on("location", outer));
  await make(made, "location", on("location", inner, "operator"));
  await make(made, "beside", on("location", beside));
  await make(made, "machine", on("robot", made.machine_id));
  await make(made, "other machine", on("robot", other.machine_id));
  await make(made, "both", on("robot", other.machine_id), on("robot", made.machine_id, "operator"));
  await make(made, "owner below", operator, on("robot", made.machine_id));
  await make(guest, "guests' location", on("location", guest.location_id));
  const ended = [
    await make(made, "withdrawn", on("robot", made.machine_id)),
    await make(guest, "guests' withdrawn", on("organization", guest.org_id)),
  ];
  await app.deleteKey({ id: ended[0]! });
  await cloud.app(guest).deleteKey({ id: ended[1]! });

  const roles = async (of: typeof made) => {
    const machine = cloud.client(MachineService, partSecret(of));
    const list = await machine.listAccessKeys({ partId: of.part_id });
    return Object.fromEntries(list.keys.map(({ id, role }) => [keys.get(id) ?? id, KeyRole[role]]));
  };
  const everywhere = {
    bootstrap: "OWNER",
    organization: "OPERATOR",
    parent: "OWNER",
    location: "OPERATOR",
    guests: "OPERATOR",
  };
  assert.deepEqual(await roles(made), {
    ...everywhere,
    machine: "OWNER",
    both: "OPERATOR",
    "owner below": "OWNER",
  });
  assert.deepEqual(await roles(other), {
    ...everywhere,
    "": "OWNER",
    "other machine": "OWNER",
    both: "OWNER",
    "owner below": "OPERATOR",
  });
  const { apiKeys } = await app.getRobotAPIKeys({ robotId: made.machine_id });
  const both = apiKeys.find(({ apiKey }) => apiKey?.name === "both");
  assert.deepEqual(
    both?.authorizations.map(({ resourceId }) => resourceId).sort(),
    [made.machine_id, other.machine_id].sort(),
    "all that the key opens is listed",
  );
});
