import { Code, ConnectError } from "@connectrpc/connect";
import { type ExpressionBuilder, type Selectable, sql, type SqlBool } from "kysely";
import { currentRecord } from "../../storage/audit/call_record.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { compiledQuery } from "../../storage/database/compiled.ts";
import type { FragmentsTable } from "../../storage/database/fragment_schema.ts";
import type {
  CloudTables,
  LocationsTable,
  MachinesTable,
  OrganizationsTable,
  PartsTable,
} from "../../storage/database/schema.ts";
import type { RegistryItemsTable } from "../../storage/database/registry_schema.ts";
import { type Action, roleAllows } from "../../../shared/rights/roles.ts";
import {
  allows,
  type Caller,
  locationsSharedWith,
  organizationsOf,
  organizationsReached,
  type Place,
} from "./caller.ts";
import { among, checked, reaches } from "./reach.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type OrganizationRow = Selectable<OrganizationsTable>;
export type LocationRow = Selectable<LocationsTable>;
export type MachineRow = Selectable<MachinesTable>;
export type PartRow = Selectable<PartsTable>;
export type FragmentRow = Selectable<FragmentsTable>;
/** An item with the namespace of its organisation. */
export type RegistryItemRow = Selectable<RegistryItemsTable> & {
  readonly namespace: string | null;
};

/**
 * The only door from a caller to rows: every query that serves a call starts here, and sees what
 * the caller may see. What lies outside answers exactly as what does not exist.
 */
export class Scope {
  constructor(private readonly queries: Queries, readonly caller: Caller) {}

  /** Ids of the organisations that the caller belongs to. */
  get orgIds(): readonly string[] {
    return organizationsOf(this.caller);
  }

  /** The same caller, with nothing but the organisations that the caller owns as a whole. */
  ofOwnedOrganizations(): Scope {
    const grants = this.caller.grants.filter((grant) =>
      grant.resource === "organization" && roleAllows(grant.role, "manage")
    );
    return new Scope(this.queries, { ...this.caller, grants });
  }

  organizations() {
    return this.queries.selectFrom("organizations").where("organizations.id", "in", this.orgIds);
  }

  locations() {
    return this.queries.selectFrom("locations").where(reaches(this.caller, "see", "locations"));
  }

  /** Those of the locations and machines that an organisation has or that others share with it. */
  inOrganization<T extends "locations" | "machines">(table: T, orgId: string) {
    const shared = locationsSharedWith(this.caller, orgId);
    const location = table === "locations" ? "locations.id" : "machines.location_id";
    return sql<SqlBool>`(${sql.ref(`${table}.org_id`)} = ${orgId} or ${
      sql.ref(location)
    } in (select value from json_each(${JSON.stringify(shared)})))`;
  }

  machines() {
    return this.queries.selectFrom("machines").where(reaches(this.caller, "see", "machines"));
  }

  /**
   * Those of many machines: found by their ids, where {@link Scope.machines} with a condition on the
   * ids goes through all of an organisation.
   */
  machinesAmong(ids: readonly string[]) {
    return this.queries.selectFrom("machines").where(among("machines.id", ids))
      .where(checked(reaches(this.caller, "see", "machines")));
  }

  parts() {
    return this.queries.selectFrom("parts").where(reaches(this.caller, "see", "parts"));
  }

  /** The parts of many machines, found by the ids of these. */
  partsOfMachines(machineIds: readonly string[]) {
    return this.queries.selectFrom("parts").where(among("parts.machine_id", machineIds))
      .where(checked(reaches(this.caller, "see", "parts")));
  }

  /** Sources of captured data whose data the caller may see, or do something else with. */
  dataSources(action: Action = "see") {
    return this.queries.selectFrom("data_sources")
      .where(reaches(this.caller, action, "data_sources"));
  }

  /** Files whose sources {@link Scope.dataSources} gives, joined with these. */
  binaryData(action: Action = "see") {
    const { training } = this.caller;
    if (training && action === "see") {
      return this.#binaryData().where((eb) =>
        eb(
          "binary_data.id",
          "in",
          eb.selectFrom("dataset_files").select("dataset_files.binary_id")
            .where("dataset_files.dataset_id", "=", training.datasetId),
        )
      );
    }
    const sources = this.dataSources(action).select("data_sources.id");
    return this.#binaryData().where("binary_data.source_id", "in", sources);
  }

  #binaryData() {
    return this.queries.selectFrom("binary_data")
      .innerJoin("data_sources", "data_sources.id", "binary_data.source_id")
      .where("binary_data.org_id", "in", [
        ...organizationsReached(this.caller),
        ...this.#trainingOrg(),
      ]);
  }

  /** Sequences of parts that the caller may see. */
  sequences() {
    return this.queries.selectFrom("sequences").where(reaches(this.caller, "see", "sequences"));
  }

  savedQueries() {
    return this.queries.selectFrom("saved_queries").where(
      "saved_queries.org_id",
      "in",
      this.orgIds,
    );
  }

  dataPipelines() {
    return this.queries.selectFrom("data_pipelines").where("data_pipelines.deleted_at", "is", null)
      .where("data_pipelines.org_id", "in", this.orgIds);
  }

  datasets() {
    const { training, orgId } = this.caller;
    const query = this.queries.selectFrom("datasets");
    return training
      ? query.where("datasets.org_id", "=", orgId).where("datasets.id", "=", training.datasetId)
      : query.where("datasets.org_id", "in", this.orgIds);
  }

  trainingJobs() {
    const { training } = this.caller;
    const query = this.queries.selectFrom("training_jobs");
    return training
      ? query.where("training_jobs.id", "=", training.jobId)
      : query.where("training_jobs.org_id", "in", this.orgIds);
  }

  /** Items of the registry: those of the caller's organisations, and the public ones of every other. */
  registryItems() {
    return registryItemsFor(this.queries, this.orgIds);
  }

  /** Fragments of the organisation, and those of others that are not private. */
  fragments() {
    const orgIds = this.orgIds;
    return this.queries.selectFrom("fragments")
      .where((eb) =>
        eb.and([
          eb(eb.val(orgIds.length), ">", 0),
          eb.or([
            eb("fragments.org_id", "in", orgIds),
            eb("fragments.visibility", "!=", "private"),
          ]),
        ])
      );
  }

  /** Whether the caller is a training job and this its model; then it may upload versions of it. */
  makesModel(model: { readonly orgId: string; readonly name: string }): boolean {
    const { training, orgId } = this.caller;
    return training?.modelName === model.name && orgId === model.orgId;
  }

  /** Whether the caller may do something with a row that one of the queries above gave. */
  allows(action: Action, place: Place): boolean {
    return allows(this.caller, action, place);
  }

  async organization(id: string, action: Action): Promise<OrganizationRow> {
    const row = await this.organizations().selectAll("organizations")
      .where("organizations.id", "=", id).executeTakeFirst();
    if (!row) throw notFound("organization", id);
    this.#check(action, { orgId: row.id }, "organization");
    return row;
  }

  /** The organisation of a row that one of the queries above gave, also of one that shares it. */
  async homeOf(row: { readonly org_id: string }): Promise<OrganizationRow> {
    return await this.queries.selectFrom("organizations").selectAll()
      .where("id", "=", row.org_id).executeTakeFirstOrThrow();
  }

  async location(id: string, action: Action): Promise<LocationRow> {
    const row = await this.locations().selectAll("locations")
      .where("locations.id", "=", id).executeTakeFirst();
    if (!row) throw notFound("location", id);
    this.#check(action, { orgId: row.org_id, locationId: row.id }, "location");
    return row;
  }

  async machine(id: string, action: Action): Promise<MachineRow> {
    const row = await this.machines().selectAll("machines")
      .where("machines.id", "=", id).executeTakeFirst();
    if (!row) throw notFound("machine", id);
    this.#check(action, machinePlace(row), "machine");
    return row;
  }

  async part(id: string, action: Action): Promise<PartRow> {
    const [row] = await partById(this.queries, id);
    // What a machine calls comes here, so the condition of parts() is not put into SQL each time.
    if (!row || !this.allows("see", partPlace(row))) throw notFound("part", id);
    this.#check(action, partPlace(row), "part");
    return row;
  }

  /** Only owners of its organisation manage a fragment. */
  async fragment(id: string, action: Action): Promise<FragmentRow> {
    const row = await this.fragments().selectAll("fragments")
      .where("fragments.id", "=", id).executeTakeFirst();
    if (!row) throw notFound("fragment", id);
    this.#check(action, { orgId: row.org_id }, "fragment");
    return row;
  }

  /** The item with an id as `namespace:name`; the organisation's id stands for its namespace too. */
  async registryItem(id: string, action: Action): Promise<RegistryItemRow> {
    const [prefix = "", name = ""] = splitAtFirst(id, ":");
    const row = await this.registryItems().selectAll("registry_items")
      .select("organizations.namespace").where("registry_items.name", "=", name)
      .where(isPrefix(prefix)).executeTakeFirst();
    if (!row) throw notFound("registry item", id);
    this.#check(action, { orgId: row.org_id }, "registry item");
    return row;
  }

  /** A training job's key has rights in place of grants, and reads files of its organisation. */
  #trainingOrg(): string[] {
    return this.caller.training ? [this.caller.orgId] : [];
  }

  /** A part may see the machine it belongs to, not what others may do with it. */
  #check(action: Action, place: Place, what: string): void {
    const record = currentRecord();
    if (record && action !== "see") record.orgId = place.orgId;
    if (action === "see" || this.allows(action, place)) return;
    this.refuse(what, action === "manage" ? `; it takes an owner of the ${what}` : "");
  }

  /** Throws PERMISSION_DENIED for something that the caller sees. */
  refuse(what: string, needed = ""): never {
    throw refusal(
      needed === "" ? "RIGHT_MISSING" : "OWNER_NEEDED",
      {},
      `these ${this.caller.actor.type} credentials do not allow that on this ${what}${needed}`,
      Code.PermissionDenied,
    );
  }
}

const partById = compiledQuery((queries, id) =>
  queries.selectFrom("parts").selectAll("parts").where("parts.id", "=", id)
);

/** What organisations see of the registry. */
export function registryItemsFor(queries: Queries, orgIds: readonly string[]) {
  return queries.selectFrom("registry_items")
    .innerJoin("organizations", "organizations.id", "registry_items.org_id")
    .where((eb) =>
      eb.or([
        eb("registry_items.org_id", "in", orgIds),
        eb("registry_items.visibility", "!=", "private"),
      ])
    );
}

/** The organisation that `prefix` in `prefix:name` or `prefix/name` stands for. */
export function isPrefix(prefix: string) {
  return (eb: ExpressionBuilder<CloudTables, "organizations">) =>
    eb.or([eb("organizations.id", "=", prefix), eb("organizations.namespace", "=", prefix)]);
}

/** What is before the first separator and what is behind it. */
export function splitAtFirst(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? ["", text] : [text.slice(0, at), text.slice(at + separator.length)];
}

export function machinePlace(row: MachineRow): Place {
  return { orgId: row.org_id, locationId: row.location_id, machineId: row.id };
}

export function partPlace(row: PartRow): Place {
  return {
    orgId: row.org_id,
    locationId: row.location_id,
    machineId: row.machine_id,
    partId: row.id,
  };
}

/** The answer for what does not exist and for what belongs to somebody else. */
export function notFound(what: string, id: string): ConnectError {
  if (id === "") return new ConnectError(`the ${what} id is missing`, Code.InvalidArgument);
  return refusal("NOT_FOUND", { id }, `no ${what} with id ${JSON.stringify(id)}`, Code.NotFound);
}
