import type { Actor } from "../access/caller.ts";
import type { Creation } from "../organizations/creation.ts";
import type { ConfigDocument } from "./config_document.ts";
import { dnsLabel } from "../addresses/host_names.ts";
import { insertFirstRevision } from "./revisions.ts";

/** Makes a machine with its main part, that part's first secret and its first revision. */
export async function createMachine(
  creation: Creation,
  machine: { orgId: string; locationId: string; name: string; config: ConfigDocument },
  actor: Actor,
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
  const partId = random.uuid();
  const part = { id: partId, name: `${machine.name}-main` };
  const labels = await queries.selectFrom("parts").select("dns_label")
    .where("location_id", "=", machine.locationId).execute();
  await queries.insertInto("parts").values({
    id: partId,
    org_id: machine.orgId,
    location_id: machine.locationId,
    machine_id: machineId,
    name: part.name,
    dns_label: dnsLabel(machine.name, part.name, new Set(labels.map((row) => row.dns_label))),
    is_main: 1,
    created_at: now.getTime(),
    last_updated: now.getTime(),
    revision_number: 1,
    restart_requested_at: null,
  }).execute();
  await queries.insertInto("part_secrets")
    .values({ id: random.uuid(), part_id: partId, created_at: now.getTime(), state: "enabled" })
    .execute();
  await insertFirstRevision(queries, part, machine.config, actor, now);
  return { machineId, partId };
}
