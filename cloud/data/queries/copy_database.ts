import { connect, type Database } from "../../../shared/base/store/connect.ts";
import { dataMigration } from "../../storage/database/data_migration.ts";
import type { ArchiveFiles } from "../archive/archive_files.ts";
import { type CopyBounds, CopySize, PAGE_BYTES } from "./copy_size.ts";
import type { Needs } from "./narrowing.ts";
import type { QueryScope } from "./query_form.ts";

/** What copying needs. */
export interface CopyPlaces {
  /** See `addonFor`. */
  readonly addon: string | undefined;
  /** Reads old readings. */
  readonly files: ArchiveFiles;
}

/** The tables of `cloud.db`, as far as queries read them. */
const TABLES = `
  ${dataMigration.up}
  CREATE TABLE machines (id TEXT PRIMARY KEY, name TEXT);
  CREATE TABLE parts (id TEXT PRIMARY KEY, name TEXT);
  CREATE TABLE data_pipelines (seq INTEGER PRIMARY KEY, id TEXT, org_id TEXT);
  CREATE TABLE data_pipeline_runs (seq INTEGER PRIMARY KEY, id TEXT, pipeline_seq INTEGER,
    data_from INTEGER, data_to INTEGER, result_attempt INTEGER);
  CREATE TABLE data_pipeline_results (run_seq INTEGER, attempt INTEGER, position INTEGER,
    document BLOB, PRIMARY KEY (run_seq, attempt, position)) WITHOUT ROWID;
`;
export const SOURCES = [
  ...["id", "org_id", "location_id", "machine_id", "part_id", "machine_name", "part_name"],
  ...["component_type", "component_name", "method_name"],
];
export const UPLOADS = [
  ...["id", "source_id", "digest", "org_id", "file_id", "synced_at", "min_received_us"],
  ...["max_received_us", "tags", "parameters"],
];
export const READINGS = ["source_id", "received_us", "upload_id", "position", "requested_us"];

const SETTINGS = [
  "foreign_keys = OFF",
  "journal_mode = OFF",
  "synchronous = OFF",
  `page_size = ${PAGE_BYTES}`,
];

/**
 * Opens an empty database with tables as those of `cloud.db`. It lies in a file without a name,
 * which the system removes when the database is closed or its process ends.
 */
export function openCopy(addon: string | undefined, bounds: CopyBounds): Database {
  const database = connect("", addon, false);
  try {
    for (const pragma of SETTINGS) database.pragma(pragma);
    database.pragma(`max_page_count = ${Math.floor(bounds.bytes / PAGE_BYTES)}`);
    database.exec(TABLES);
    return database;
  } catch (error) {
    database.close();
    throw new CopySize(database, bounds).failure(error);
  }
}

/** What is copied of some sources. */
export interface Within {
  /** Ids. */
  readonly sources: readonly (string | number)[];
  /** Of `received_us`; both belong to it. */
  readonly fromUs: number;
  readonly toUs: number;
  /** Lists of tags: an upload has all of one of them. None: it may have any. */
  readonly tags: readonly (readonly string[])[];
}

/** What a query needs of some sources. */
export function withinOf(
  { span }: QueryScope,
  { looks }: Needs,
  sources: readonly (string | number)[],
): Within {
  return {
    sources,
    fromUs: Math.max(span?.fromUs ?? -Infinity, Math.min(...looks.map(({ fromUs }) => fromUs))),
    toUs: Math.min((span?.toUs ?? Infinity) - 1, Math.max(...looks.map(({ toUs }) => toUs))),
    // A look without tags looks at the readings of all uploads.
    tags: looks.every(({ tags }) => tags.length > 0) ? looks.map(({ tags }) => tags) : [],
  };
}
