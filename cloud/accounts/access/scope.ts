import { Code, ConnectError } from "@connectrpc/connect";
import type { ExpressionBuilder, Selectable } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type {
  CloudTables,
  LocationsTable,
  MachinesTable,
  OrganizationsTable,
  PartsTable,
  RegistryItemsTable,
} from "../../storage/database/schema.ts";
import type { Action } from "../../../shared/rights/roles.ts";
import { allows, type Caller, grantsFor, type Place } from "./caller.ts";

export type OrganizationRow = Selectable<OrganizationsTable>;
export type LocationRow = Selectable<LocationsTable>;
export type MachineRow = Selectable<MachinesTable>;
export type PartRow = Selectable<PartsTable>;
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

  organizations() {
    return this.queries.selectFrom("organizations").where("organizations.id", "=", this.#orgId());
  }

  locations() {
    const grants = grantsFor(this.caller, "see");
    return this.queries.selectFrom("locations")
      .where("locations.org_id", "=", this.caller.orgId)
      .where((eb) =>
        eb.or(grants.map((grant) => {
          switch (grant.resource) {
            case "organization":
              return eb("locations.org_id", "=", grant.id);
            case "location":
              return eb("locations.id", "=", grant.id);
            case "robot":
              return eb(
                "locations.id",
                "in",
                eb.selectFrom("machines").select("machines.location_id")
                  .where("machines.id", "=", grant.id),
              );
            case "part":
              return eb(
                "locations.id",
                "in",
                eb.selectFrom("parts").select("parts.location_id").where("parts.id", "=", grant.id),
              );
          }
        }))
      );
  }

  machines() {
    const grants = grantsFor(this.caller, "see");
    return this.queries.selectFrom("machines")
      .where("machines.org_id", "=", this.caller.orgId)
      .where((eb) =>
        eb.or(grants.map((grant) => {
          switch (grant.resource) {
            case "organization":
              return eb("machines.org_id", "=", grant.id);
            case "location":
              return eb("machines.location_id", "=", grant.id);
            case "robot":
              return eb("machines.id", "=", grant.id);
            case "part":
              return eb(
                "machines.id",
                "in",
                eb.selectFrom("parts").select("parts.machine_id").where("parts.id", "=", grant.id),
              );
          }
        }))
      );
  }

  parts() {
    const grants = grantsFor(this.caller, "see");
    return this.queries.selectFrom("parts")
      .where("parts.org_id", "=", this.caller.orgId)
      .where((eb) =>
        eb.or(grants.map((grant) => {
          switch (grant.resource) {
            case "organization":
              return eb("parts.org_id", "=", grant.id);
            case "location":
              return eb("parts.location_id", "=", grant.id);
            case "robot":
              return eb("parts.machine_id", "=", grant.id);
            case "part":
              return eb("parts.id", "=", grant.id);
          }
        }))
      );
  }

  /** Sources of captured data whose data the caller may see, or do something else with. */
  dataSources(action: Action = "see") {
    const grants = grantsFor(this.caller, action);
    return this.queries.selectFrom("data_sources")
      .where("data_sources.org_id", "=", this.caller.orgId)
      .where((eb) =>
        eb.or(grants.map((grant) => {
          switch (grant.resource) {
            case "organization":
              return eb("data_sources.org_id", "=", grant.id);
            case "location":
              return eb("data_sources.location_id", "=", grant.id);
            case "robot":
              return eb("data_sources.machine_id", "=", grant.id);
            case "part":
              return eb("data_sources.part_id", "=", grant.id);
          }
        }))
      );
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
      .where("binary_data.org_id", "=", this.caller.orgId);
  }

  /** Sequences of parts that the caller may see. */
  sequences() {
    const grants = grantsFor(this.caller, "see");
    return this.queries.selectFrom("sequences")
      .where("sequences.org_id", "=", this.caller.orgId)
      .where((eb) =>
        eb.or(grants.map((grant) => {
          switch (grant.resource) {
            case "organization":
              return eb("sequences.org_id", "=", grant.id);
            case "location":
              return eb("sequences.location_id", "=", grant.id);
            case "robot":
              return eb("sequences.machine_id", "=", grant.id);
            case "part":
              return eb("sequences.part_id", "=", grant.id);
          }
        }))
      );
  }

  savedQueries() {
    return this.queries.selectFrom("saved_queries").where(
      "saved_queries.org_id",
      "=",
      this.#orgId(),
    );
  }

  datasets() {
    const { training, orgId } = this.caller;
    const query = this.queries.selectFrom("datasets");
    return training
      ? query.where("datasets.org_id", "=", orgId).where("datasets.id", "=", training.datasetId)
      : query.where("datasets.org_id", "=", this.#orgId());
  }

  trainingJobs() {
    const { training } = this.caller;
    const query = this.queries.selectFrom("training_jobs");
    return training
      ? query.where("training_jobs.id", "=", training.jobId)
      : query.where("training_jobs.org_id", "=", this.#orgId());
  }

  /** Items of the registry: those of the organisation, and the public ones of every other. */
  registryItems() {
    return registryItemsFor(this.queries, this.#orgId());
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
    const row = await this.parts().selectAll("parts").where("parts.id", "=", id).executeTakeFirst();
    if (!row) throw notFound("part", id);
    this.#check(action, partPlace(row), "part");
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

  #orgId(): string {
    return this.caller.grants.length > 0 ? this.caller.orgId : "";
  }

  /** A part may see the machine it belongs to, not what others may do with it. */
  #check(action: Action, place: Place, what: string): void {
    if (action === "see" || this.allows(action, place)) return;
    this.refuse(what);
  }

  /** Throws PERMISSION_DENIED for something that the caller sees. */
  refuse(what: string): never {
    throw new ConnectError(
      `these ${this.caller.actor.type} credentials do not allow that on this ${what}`,
      Code.PermissionDenied,
    );
  }
}

/** What an organisation sees of the registry. */
export function registryItemsFor(queries: Queries, orgId: string) {
  return queries.selectFrom("registry_items")
    .innerJoin("organizations", "organizations.id", "registry_items.org_id")
    .where((eb) =>
      eb.or([
        eb("registry_items.org_id", "=", orgId),
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
  return new ConnectError(`no ${what} with id ${JSON.stringify(id)}`, Code.NotFound);
}
