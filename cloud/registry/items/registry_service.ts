import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { sql, type SqlBool } from "kysely";
import type { RegistryService } from "../../../shared/gen/machine/cloud/v1/registry_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type RegistryItemRow, type Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { partsNaming } from "../packages/followers.ts";
import { candidate } from "../packages/package_service.ts";
import type { PackageStore } from "../packages/package_store.ts";
import { chooseFile } from "../packages/versions.ts";
import { requireValid } from "../packages/names.ts";
import { modelsOf, setModelSchemas } from "./model_schemas.ts";

export interface RegistryServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly store: Pick<PackageStore, "filesOf">;
}

const MOST_MODULES = 100;
const MOST_USERS = 1_000;

/** `machine.cloud.v1.RegistryService`: schemas of models, and who uses an item. */
export function registryService(
  { callers, queries, store }: RegistryServiceOptions,
): ServiceImpl<typeof RegistryService> {
  return {
    async listModels({ moduleIds, versions }, context) {
      const scope = await callers.scope(context);
      const tooMany = moduleIds.length > MOST_MODULES ? `${MOST_MODULES} are allowed` : undefined;
      requireValid("module_ids", tooMany);
      const models = await Promise.all([...new Set(moduleIds)].map(async (moduleId) => {
        const item = await scope.registryItem(moduleId, "see").catch(unseen);
        if (item?.type !== "module") return [];
        const files = (await store.filesOf([item.id])).map(candidate);
        const wanted = versions[moduleId] ?? "";
        const choice = chooseFile(files, { type: "module", version: wanted, platform: undefined });
        const version = choice.kind === "found"
          ? choice.file.version
          : choice.kind === "ambiguous"
          ? choice.files[0]?.version
          : undefined;
        return (await modelsOf(queries, item, version)).map(({ api, model, schema }) => ({
          ...{ moduleId, api, model },
          schemaJson: schema,
        }));
      }));
      return { models: models.flat() };
    },

    async setModelSchemas({ moduleId, schemas, version }, context) {
      const scope = await callers.scope(context);
      const item = await scope.registryItem(moduleId, "manage");
      if (item.type !== "module") throw notFound("module", moduleId);
      await setModelSchemas(queries, item, schemas, version);
      return {};
    },

    async listItemUsers({ itemId }, context) {
      const scope = await callers.scope(context);
      return await usersOf(queries, scope, await scope.registryItem(itemId, "see"));
    },
  };
}

function unseen(error: unknown): undefined {
  if (!(error instanceof ConnectError) || error.code !== Code.NotFound) throw error;
}

async function usersOf(queries: Queries, scope: Scope, item: RegistryItemRow) {
  const naming = await partsNaming(queries, item);
  const versions = new Map(naming.map(({ id, version }) => [id, version]));
  const ids = JSON.stringify([...versions.keys()]);
  const rows = await scope.parts().innerJoin("machines", "machines.id", "parts.machine_id")
    .select(["parts.id", "parts.name", "parts.org_id", "machines.id as machine_id"])
    .select("machines.name as machine_name")
    .where(sql<SqlBool>`parts.id in (select value from json_each(${ids}))`)
    .orderBy("machines.name").orderBy("parts.name").limit(MOST_USERS).execute();
  return {
    users: rows.map((row) => ({
      machineId: row.machine_id,
      machineName: row.machine_name,
      partId: row.id,
      partName: row.name,
      organizationId: row.org_id,
      version: versions.get(row.id) ?? "",
    })),
    others: BigInt(naming.length - rows.length),
  };
}
