import { toError } from "../../../shared/base/errors/to_error.ts";
import type { ModelSchema } from "../../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { LONGEST_SCHEMA, modelSchemaProblem } from "../../../shared/registry/model_schema.ts";
import type { RegistryItemRow } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { requireValid } from "../packages/names.ts";
import { readModuleDetails } from "./item_messages.ts";

/** A model of a module; `schema` is JSON text, empty where the module brings none. */
export interface DescribedModel {
  readonly api: string;
  readonly model: string;
  readonly schema: string;
}

/** The models of a module, with the schemas of their attributes. */
export async function modelsOf(queries: Queries, item: RegistryItemRow): Promise<DescribedModel[]> {
  const rows = await queries.selectFrom("model_schemas").selectAll()
    .where("item_id", "=", item.id).execute();
  const schemas = new Map(rows.map((row) => [`${row.api} ${row.model}`, row.schema]));
  return readModuleDetails(item.details).models.map(({ api, model }) => ({
    ...{ api, model },
    schema: schemas.get(`${api} ${model}`) ?? "",
  }));
}

/** Replaces the schemas of a module's models. Throws INVALID_ARGUMENT that names the schema. */
export async function setModelSchemas(
  queries: Queries,
  item: RegistryItemRow,
  schemas: readonly ModelSchema[],
): Promise<void> {
  const known = new Set(
    readModuleDetails(item.details).models.map(({ api, model }) => `${api} ${model}`),
  );
  const rows = new Map(schemas.map(({ api, model, schemaJson }, at) => {
    const id = `${api} ${model}`;
    const unknown = `the module has no model ${JSON.stringify(model)} of ${JSON.stringify(api)}; ` +
      "name it with UpdateModule first";
    requireValid(`schemas[${at}].model`, known.has(id) ? undefined : unknown);
    requireValid(`schemas[${at}].schema_json`, schemaProblem(schemaJson));
    return [id, { item_id: item.id, api, model, schema: schemaJson }];
  }));
  await queries.transaction().execute(async (transaction) => {
    await transaction.deleteFrom("model_schemas").where("item_id", "=", item.id).execute();
    for (const row of rows.values()) {
      await transaction.insertInto("model_schemas").values(row).execute();
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
