import type { Selectable } from "kysely";
import type { RegistryItemRow } from "../../accounts/access/scope.ts";
import type { ItemVersionsTable } from "../../storage/database/registry_schema.ts";
import type { FileRow } from "../packages/package_store.ts";

/** A version of an item, as stored. */
export type VersionRow = Selectable<ItemVersionsTable>;

/** An item with everything that hangs on it. */
export interface WholeItem {
  readonly item: RegistryItemRow;
  /** Newest first. */
  readonly versions: readonly VersionRow[];
  /** Newest first. */
  readonly files: readonly FileRow[];
  /** How many parts and organisations name it; undefined: nobody counted. */
  readonly usage?: { readonly parts: number; readonly organizations: number };
}
