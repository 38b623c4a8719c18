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

export interface ModelSchemaTables {
  model_schemas: ModelSchemasTable;
}
