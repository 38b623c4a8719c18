import type { ColumnType } from "kysely";

/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** JSON Schemas of the attributes of modules' models. */
export interface ModelSchemasTable {
  item_id: Fixed<string>;
  api: Fixed<string>;
  model: Fixed<string>;
  /** JSON text. */
  schema: Fixed<string>;
}

/**
 * Those of one version, with a row for each model that the module had: one without a schema has the
 * empty text. A version without rows has those of `model_schemas`.
 */
export interface VersionSchemasTable extends ModelSchemasTable {
  version: Fixed<string>;
}

export interface ModelSchemaTables {
  version_schemas: VersionSchemasTable;
  model_schemas: ModelSchemasTable;
}
