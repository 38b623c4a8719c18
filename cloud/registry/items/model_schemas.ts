import { toError } from "../../../shared/base/errors/to_error.ts";
import type { ModelSchema } from "../../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { LONGEST_SCHEMA, modelSchemaProblem } from "../../../shared/registry/model_schema.ts";
import type { RegistryItemRow } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { requireItemVersion, requireValid } from "../packages/names.ts";
import { readModuleDetails } from "./item_messages.ts";

/** A model of a module; `schema` is JSON text, empty where the module brings none. */
export interface DescribedModel {
  readonly api: string;
  readonly model: string;
  readonly schema: string;
}

/**
 * The models of a module, with the schemas of their attributes.
 *
 * @param version the one that they are wanted of; undefined: it has none
 */
export async function modelsOf(
  queries: Queries,
  item: RegistryItemRow,
  version: string | undefined,
): Promise<DescribedModel[]> {
  const own = await queries.selectFrom("version_schemas").select(["api", "model", "schema"])
    .where("item_id", "=", item.id).where("version", "=", version ?? "").execute();
  const rows = own.length > 0 ? own : await queries.selectFrom("model_schemas")
    .select(["api", "model", "schema"]).where("item_id", "=", item.id).execute();
  const schemas = new Map(rows.map((row) => [`${row.api} ${row.model}`, row.schema]));
  return readModuleDetails(item.details).models.map(({ api, model }) => ({
    ...{ api, model },
    schema: schemas.get(`${api} ${model}`) ?? "",
  }));
}

/**
 * Replaces the schemas of a module's models. Throws INVALID_ARGUMENT that names the schema.
 *
 * @param version the one that they are of; empty: only those that have none of their own get them
 */
export async function setModelSchemas(
  queries: Queries,
  item: RegistryItemRow,
  schemas: readonly ModelSchema[],
  version: string,
): Promise<void> {
  if (version !== "") requireItemVersion("version", version, "module");
  const models = readModuleDetails(item.details).models;
  const known = new Set(models.map(({ api, model }) => `${api} ${model}`));
  const rows = new Map(schemas.map(({ api, model, schemaJson }, at) => {
    const id = `${api} ${model}`;
    const unknown = `the module has no model ${JSON.stringify(model)} of ${JSON.stringify(api)}; ` +
      "name it with UpdateModule first";
    requireValid(
      `schemas[${at}].model`,
      known.has(id) ? undefined : unknown,
      "NAME_UNKNOWN",
      { name: model },
    );
    requireValid(
      `schemas[${at}].schema_json`,
      schemaProblem(schemaJson),
      "SCHEMA_INVALID",
      { name: model },
    );
    return [id, { item_id: item.id, api, model, schema: schemaJson }];
  }));
  await queries.transaction().execute(async (transaction) => {
    await transaction.deleteFrom("model_schemas").where("item_id", "=", item.id).execute();
    for (const row of rows.values()) {
      await transaction.insertInto("model_schemas").values(row).execute();
    }
    if (version === "") return;
    await transaction.deleteFrom("version_schemas")
      .where("item_id", "=", item.id).where("version", "=", version).execute();
    for (const { api, model } of models) {
      const schema = rows.get(`${api} ${model}`)?.schema ?? "";
      await transaction.insertInto("version_schemas")
        .values({ item_id: item.id, version, api, model, schema }).execute();
    }
  });
}

function schemaProblem(text: string): string | undefined {
  if (text.length > LONGEST_SCHEMA) return `it is longer than ${LONGEST_SCHEMA} bytes`;
  try {
    return modelSchemaProblem(JSON.parse(text));
  } catch (error) {
    return `it is no JSON (${toError(error).message})`;
  }
}
