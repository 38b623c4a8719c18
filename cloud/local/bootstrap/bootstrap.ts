import { hashKey, type KeyCost } from "../../../shared/cloud/auth/key_hash.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { insertKey } from "../../accounts/access/api_keys.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import { SharedSecrets } from "../../accounts/access/secrets.ts";
import { DEFAULT_ADDRESS, DEFAULT_DOMAIN } from "../../api/addresses/defaults.ts";
import type { DataFolder } from "../../storage/data_folder/data_folder.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { readSetting } from "../../storage/database/settings.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import type { Random } from "../../storage/keys/random.ts";
import { type ConfigDocument, EMPTY_CONFIG } from "../../fleet/configuration/config_document.ts";
import { createMachine } from "../../fleet/machines/creation.ts";
import { hostNames } from "../../api/addresses/host_names.ts";
import { savePart } from "../../fleet/machines/revisions.ts";
import {
  createLocation,
  createOrganization,
  type Creation,
} from "../../accounts/organizations/creation.ts";

/** What shall be there. Everything is found again by its name. */
export interface BootstrapInput {
  readonly organization: string;
  readonly location: string;
  readonly machine: string;
  /** Configuration of the machine; left out: that of a machine that is there stays. */
  readonly config?: ConfigDocument | undefined;
  /** Where the cloud is reached; left out: where it serves or served last. */
  readonly publicUrl?: string | undefined;
}

/** What `bootstrap` prints. */
export interface BootstrapResult {
  readonly org_id: string;
  readonly location_id: string;
  readonly machine_id: string;
  readonly part_id: string;
  readonly part_secret: string;
  readonly api_key_id: string;
  readonly api_key: string;
  readonly fqdn: string;
  readonly cloud_address: string;
  /** Where the owner who was named sets a password; only when there is none yet. */
  readonly owner_password_url?: string;
  /** Signs the owner who was named in, once, within an hour. */
  readonly owner_sign_in_url?: string;
}

/** What {@link bootstrap} needs. */
export interface BootstrapDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Of the key; left out: what is right for keys. Tests have a lower one. */
  readonly keyCost?: KeyCost;
}

/**
 * Makes an organisation with an API key, a location and a machine, as far as they are not there.
 * Run again, also at the same time, it finds what it made and gives the same answer.
 */
export async function bootstrap(
  { database, keys }: DataFolder,
  { clock, random, keyCost }: BootstrapDeps,
  input: BootstrapInput,
): Promise<BootstrapResult> {
  const made = await database.queries.transaction().execute(async (queries) => {
    const creation = { queries, random, now: clock.now() };
    const orgId = await findOrganization(queries, input.organization) ??
      await createOrganization(creation, input.organization);
    const key = await findOrCreateKey(creation, keys.secrets, orgId, keyCost);
    const actor: Actor = { type: "api-key", id: key.id };
    const locationId = await findLocation(queries, orgId, input.location) ??
      await createLocation(creation, { orgId, name: input.location });
    const machine = await findOrCreateMachine(creation, { orgId, locationId, ...input }, actor);
    return { orgId, locationId, key, ...machine };
  });
  const [secret] = await new SharedSecrets(database.queries, keys.secrets).ofPart(made.partId);
  const { dns_label: dnsLabel } = await database.queries.selectFrom("parts").select("dns_label")
    .where("id", "=", made.partId).executeTakeFirstOrThrow();
  const domain = await readSetting(database.queries, "domain") ?? DEFAULT_DOMAIN;
  const servedAt = await readSetting(database.queries, "public_url");
  return {
    org_id: made.orgId,
    location_id: made.locationId,
    machine_id: made.machineId,
    part_id: made.partId,
    part_secret: secret?.value ?? "",
    api_key_id: made.key.id,
    api_key: made.key.value,
    fqdn: hostNames(dnsLabel, made.locationId, domain).fqdn,
    cloud_address: input.publicUrl ?? servedAt ?? `http://${DEFAULT_ADDRESS}`,
  };
}

async function findOrganization(queries: Queries, name: string): Promise<string | undefined> {
  const row = await queries.selectFrom("organizations").select("id").where("name", "=", name)
    .orderBy("created_at").orderBy("id").executeTakeFirst();
  return row?.id;
}

async function findLocation(
  queries: Queries,
  orgId: string,
  name: string,
): Promise<string | undefined> {
  const row = await queries.selectFrom("locations").select("id")
    .where("org_id", "=", orgId).where("name", "=", name)
    .orderBy("created_at").orderBy("id").executeTakeFirst();
  return row?.id;
}

/**
 * The key is computed, not stored, so that it can be determined again; a deleted one is replaced.
 */
async function findOrCreateKey(
  { queries, random, now }: Creation,
  secrets: DerivedSecrets,
  orgId: string,
  keyCost: KeyCost | undefined,
): Promise<{ id: string; value: string }> {
  const rows = await queries.selectFrom("api_keys").select(["id", "derived_as", "deleted_at"])
    .where("org_id", "=", orgId).where("derived_as", "like", "bootstrap-key:%").execute();
  const generationOf = (derivedAs: string | null) => Number(derivedAs?.split(":").at(-1));
  const valid = rows.find((row) => row.deleted_at === null);
  if (valid) {
    return { id: valid.id, value: secrets.bootstrapKey(orgId, generationOf(valid.derived_as)) };
  }
  const generation = 1 + Math.max(0, ...rows.map((row) => generationOf(row.derived_as)));
  const value = secrets.bootstrapKey(orgId, generation);
  const id = random.uuid();
  await insertKey(queries, {
    id,
    orgId,
    name: "bootstrap",
    hash: await hashKey(value, keyCost),
    grants: [{ role: "owner", resource: "organization", id: orgId }],
    derivedAs: `bootstrap-key:${orgId}:${generation}`,
  }, now);
  return { id, value };
}

async function findOrCreateMachine(
  creation: Creation,
  machine: {
    orgId: string;
    locationId: string;
    machine: string;
    config?: ConfigDocument | undefined;
  },
  actor: Actor,
): Promise<{ machineId: string; partId: string }> {
  const { queries, now } = creation;
  const found = await queries.selectFrom("machines")
    .innerJoin("parts", "parts.machine_id", "machines.id")
    .select(["machines.id as machineId", "parts.id as partId"])
    .where("machines.location_id", "=", machine.locationId)
    .where("machines.name", "=", machine.machine)
    .where("parts.is_main", "=", 1).executeTakeFirst();
  if (!found) {
    const { orgId, locationId, machine: name, config = EMPTY_CONFIG } = machine;
    return await createMachine(creation, { orgId, locationId, name, config }, { actor });
  }
  if (machine.config) {
    await savePart(queries, found.partId, { config: machine.config, keepText: true }, actor, now);
  }
  return found;
}
