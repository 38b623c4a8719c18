import type { JsonObject } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { ChangedMachines } from "../presence/changed_machines.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ResourceMetadataTable } from "../../storage/database/fragment_schema.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface MetadataMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changed: Pick<ChangedMachines, "add">;
}

type Kind = Selectable<ResourceMetadataTable>["resource_type"];

/** Longest metadata of one thing, in characters of JSON. */
const LONGEST_METADATA = 256 * 1024;

/** The calls of AppService that keep what programs note of an organisation, a location, a machine or a part. */
export function metadataMethods(
  { callers, queries, changed }: MetadataMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const read = (kind: Kind, id: string) => readMetadata(queries, kind, id);
  const write = (kind: Kind, id: string, data: JsonObject | undefined) =>
    writeMetadata(queries, kind, id, data);
  return {
    async getOrganizationMetadata({ organizationId }, context) {
      const { id } = await (await callers.scope(context)).organization(organizationId, "see");
      return await read("organization", id);
    },
    async updateOrganizationMetadata({ organizationId, data }, context) {
      const { id } = await (await callers.scope(context)).organization(organizationId, "manage");
      return await write("organization", id, data);
    },
    async getLocationMetadata({ locationId }, context) {
      const { id } = await (await callers.scope(context)).location(locationId, "see");
      return await read("location", id);
    },
    async updateLocationMetadata({ locationId, data }, context) {
      const { id } = await (await callers.scope(context)).location(locationId, "manage");
      return await write("location", id, data);
    },
    async getRobotMetadata({ id: machineId }, context) {
      const { id } = await (await callers.scope(context)).machine(machineId, "see");
      return await read("robot", id);
    },
    async updateRobotMetadata({ id: machineId, data }, context) {
      const machine = await (await callers.scope(context)).machine(machineId, "manage");
      const answer = await write("robot", machine.id, data);
      changed.add(machine.org_id, machine.id);
      return answer;
    },
    async getRobotPartMetadata({ id: partId }, context) {
      const { id } = await (await callers.scope(context)).part(partId, "see");
      return await read("part", id);
    },
    async updateRobotPartMetadata({ id: partId, data }, context) {
      const { id } = await (await callers.scope(context)).part(partId, "manage");
      return await write("part", id, data);
    },
  };
}

/** What was noted of a thing; empty when nothing was. */
async function readMetadata(queries: Queries, kind: Kind, id: string) {
  const row = await queries.selectFrom("resource_metadata").select("data")
    .where("resource_type", "=", kind).where("resource_id", "=", id).executeTakeFirst();
  return { data: JSON.parse(row?.data ?? "{}") as JsonObject };
}

/** Puts `data` in the place of all that was noted of a thing. */
async function writeMetadata(
  queries: Queries,
  kind: Kind,
  id: string,
  data: JsonObject | undefined,
) {
  const text = JSON.stringify(data ?? {});
  if (text.length > LONGEST_METADATA) {
    throw refusal(
      "TOO_LONG",
      { most: LONGEST_METADATA },
      `data: has ${text.length} characters as JSON; ${LONGEST_METADATA} are allowed`,
      Code.InvalidArgument,
    );
  }
  await queries.insertInto("resource_metadata")
    .values({ resource_type: kind, resource_id: id, data: text })
    .onConflict((conflict) =>
      conflict.columns(["resource_type", "resource_id"]).doUpdateSet({ data: text })
    ).execute();
  return {};
}
