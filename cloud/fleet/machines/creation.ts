import type { Creation } from "../../accounts/organizations/creation.ts";
import type { ConfigDocument } from "../configuration/config_document.ts";
import { dnsLabel } from "../../api/addresses/host_names.ts";
import { insertFirstRevision, type MadeBy } from "./revisions.ts";

/** Makes a part with its first secret and its first revision. Gives its id. */
export async function createPart(
  { queries, random, now }: Creation,
  part: {
    readonly orgId: string;
    readonly locationId: string;
    readonly machineId: string;
    readonly machineName: string;
    readonly name: string;
    readonly isMain: boolean;
    readonly config: ConfigDocument;
  },
  by: MadeBy,
): Promise<string> {
  const id = random.uuid();
  const labels = await queries.selectFrom("parts").select("dns_label")
    .where("location_id", "=", part.locationId).execute();
  await queries.insertInto("parts").values({
    id,
    org_id: part.orgId,
    location_id: part.locationId,
    machine_id: part.machineId,
    name: part.name,
    dns_label: dnsLabel(part.machineName, part.name, new Set(labels.map((row) => row.dns_label))),
    is_main: part.isMain ? 1 : 0,
    created_at: now.getTime(),
    last_updated: now.getTime(),
    revision_number: 1,
    restart_requested_at: null,
  }).execute();
  await queries.insertInto("part_secrets")
    .values({ id: random.uuid(), part_id: id, created_at: now.getTime(), state: "enabled" })
    .execute();
  await insertFirstRevision(
    queries,
    { id, name: part.name, orgId: part.orgId },
    part.config,
    by,
    now,
  );
  return id;
}

/** Makes a machine with its main part, that part's first secret and its first revision. */
export async function createMachine(
  creation: Creation,
  machine: { orgId: string; locationId: string; name: string; config: ConfigDocument },
  by: MadeBy,
): Promise<{ machineId: string; partId: string }> {
  const { queries, random, now } = creation;
  const machineId = random.uuid();
  await queries.insertInto("machines").values({
    id: machineId,
    org_id: machine.orgId,
    location_id: machine.locationId,
    name: machine.name,
    created_at: now.getTime(),
  }).execute();
  const partId = await createPart(creation, {
    orgId: machine.orgId,
    locationId: machine.locationId,
    machineId,
    machineName: machine.name,
    name: `${machine.name}-main`,
    isMain: true,
    config: machine.config,
  }, by);
  return { machineId, partId };
}
