import type { ColumnType, Generated } from "kysely";
import type { ActorType, Visibility } from "./row_types.ts";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** What a package holds. */
export type PackageType = "archive" | "ml_model" | "module" | "slam_map" | "ml_training";

/** A module, model or other thing that comes in versions. */
export interface RegistryItemsTable {
  id: Fixed<string>;
  org_id: string;
  /** Unique in the organisation, whatever the type. */
  name: string;
  type: Fixed<PackageType>;
  visibility: Visibility;
  url: string;
  description: string;
  markdown: string | null;
  /** JSON of the item's metadata message; what it says of versions is in their table. */
  details: string;
  created_at: Fixed<TimeMs>;
  updated_at: TimeMs;
  /** Null: it is not. */
  deprecated_at: ColumnType<TimeMs | null, TimeMs | null | undefined, TimeMs | null>;
  deprecated_message: Generated<string>;
}

export interface ItemVersionsTable {
  item_id: Fixed<string>;
  version: Fixed<string>;
  /** What `registry_items.details` was when the version was uploaded last. */
  details: string;
  created_at: Fixed<TimeMs>;
  /** Null: it is not. */
  deprecated_at: ColumnType<TimeMs | null, TimeMs | null | undefined, TimeMs | null>;
  deprecated_message: Generated<string>;
}

/** One uploaded file: a version for a platform. */
export interface PackageFilesTable {
  /** Also the file's name in the folder of blobs. */
  id: Fixed<string>;
  item_id: Fixed<string>;
  version: Fixed<string>;
  /** `os/architecture`, `os/any` or `any`. */
  platform: Fixed<string>;
  /** Program in the archive; empty: none is known. */
  entrypoint: Fixed<string>;
  /** Hexadecimal. */
  sha256: Fixed<string>;
  /** Base64 of four bytes. */
  crc32c: Fixed<string>;
  /** Bytes. */
  size: Fixed<number>;
  /** JSON object, as it was sent. */
  metadata: Fixed<string>;
  /** JSON list of {@link FileInfo} messages, as it was sent. */
  files: Fixed<string>;
  created_at: Fixed<TimeMs>;
  created_by_type: Fixed<ActorType>;
  created_by: Fixed<string>;
}

export interface RegistryTables {
  registry_items: RegistryItemsTable;
  item_versions: ItemVersionsTable;
  package_files: PackageFilesTable;
}
