import type { ColumnType, Generated } from "kysely";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Microseconds since 1970: what machines capture a thousand times a second keeps its order. */
type TimeUs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** Where data comes from: a method of a component of a part, while it stood at one location. */
export interface DataSourcesTable {
  id: Generated<number>;
  org_id: Fixed<string>;
  location_id: Fixed<string>;
  machine_id: Fixed<string>;
  /** The part may be gone; its data stays. */
  part_id: Fixed<string>;
  /** As they were called when the row was made. */
  machine_name: Fixed<string>;
  part_name: Fixed<string>;
  /** As the machine sent it: `rdk:component:sensor`, or `sensor`. */
  component_type: Fixed<string>;
  component_name: Fixed<string>;
  method_name: Fixed<string>;
}

/** One upload of readings. Stays when its readings are deleted: it may be sent once more. */
export interface DataUploadsTable {
  id: Generated<number>;
  source_id: Fixed<number>;
  /** What distinguishes this upload from all others of its source. */
  digest: Fixed<string>;
  org_id: Fixed<string>;
  /** What the upload was answered with. */
  file_id: Fixed<string>;
  /** When it arrived. */
  synced_at: Fixed<TimeMs>;
  min_received_us: Fixed<TimeUs>;
  max_received_us: Fixed<TimeUs>;
  /** JSON list of texts. */
  tags: Fixed<string>;
  /** JSON object. */
  parameters: Fixed<string>;
}

/** One reading. Rows lie in the file by source and time. */
export interface TabularReadingsTable {
  source_id: Fixed<number>;
  received_us: Fixed<TimeUs>;
  upload_id: Fixed<number>;
  /** 0, 1, 2 … within the upload. */
  position: Fixed<number>;
  requested_us: Fixed<TimeUs>;
  /** JSON object, as it was captured. */
  data: Fixed<string>;
}

/** One image, point cloud or other file. */
export interface BinaryDataTable {
  /** Also the file's name in the folder of data. */
  id: Fixed<string>;
  org_id: Fixed<string>;
  source_id: Fixed<number>;
  /** What distinguishes this file from all others of its source. */
  digest: Fixed<string>;
  requested_us: Fixed<TimeUs>;
  received_us: Fixed<TimeUs>;
  /** When it arrived. */
  synced_at: Fixed<TimeMs>;
  file_name: Fixed<string>;
  /** With its dot. */
  file_extension: Fixed<string>;
  mime_type: Fixed<string>;
  /** JSON object. */
  parameters: Fixed<string>;
  /** Bytes. */
  size: Fixed<number>;
  /** Hexadecimal. */
  sha256: Fixed<string>;
}

export interface BinaryTagsTable {
  binary_id: Fixed<string>;
  tag: Fixed<string>;
}

/** What somebody or something saw in an image. */
export interface BinaryAnnotationsTable {
  id: Fixed<string>;
  binary_id: Fixed<string>;
  /** A classification is about the whole image. */
  kind: Fixed<"box" | "classification">;
  label: string;
  /** 0 to 1. */
  confidence: number | null;
  /** Shares of width and height, 0 to 1. */
  x_min: number;
  y_min: number;
  x_max: number;
  y_max: number;
}

export interface DatasetsTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  /** Unique in the organisation. */
  name: string;
  type: Fixed<"binary" | "sequence">;
  created_at: Fixed<TimeMs>;
}

export interface DatasetFilesTable {
  dataset_id: Fixed<string>;
  binary_id: Fixed<string>;
}

/** What an organisation wants of its data; without a row it is kept forever, without a limit. */
export interface DataSettingsTable {
  org_id: Fixed<string>;
  /** Days after its arrival that data is kept. */
  retention_days: number | null;
  /** Most bytes of readings and files together. */
  quota_bytes: number | null;
  /** Days after their capture that readings move to files. */
  archive_after_days: number | null;
}

/** A file of readings in Parquet, of one part and one day; its id is that of the blob. */
export interface ArchivedFilesTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  part_id: Fixed<string>;
  /** Days since 1970, of `received_us`. */
  day: Fixed<number>;
  readings: Fixed<number>;
  /** Bytes of JSON, as in `data_usage`. */
  reading_bytes: Fixed<number>;
  /** Of the file. */
  size: Fixed<number>;
  /** Hexadecimal, of the file. */
  sha256: Fixed<string>;
  /** When the first and the last upload arrived of which it has readings. */
  min_synced_at: Fixed<TimeMs>;
  max_synced_at: Fixed<TimeMs>;
}

/** What a file of readings has of one source: rows that lie together, in the order of time. */
export interface ArchivedSourcesTable {
  source_id: Fixed<number>;
  /** That of the file. */
  day: Fixed<number>;
  file_id: Fixed<string>;
  first_row: Fixed<number>;
  readings: Fixed<number>;
  reading_bytes: Fixed<number>;
  min_received_us: Fixed<TimeUs>;
  max_received_us: Fixed<TimeUs>;
}

/** A file of readings that others took the place of; backups of the database name it. */
export interface ReplacedFilesTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  part_id: Fixed<string>;
  /** Days since 1970. */
  day: Fixed<number>;
  /** When that was. */
  at: Fixed<TimeMs>;
}

/** Where a machine is, by the newest `Position` that a movement sensor of it captured. */
export interface MachinePositionsTable {
  machine_id: Fixed<string>;
  /** The movement sensor. */
  source_id: number;
  received_us: TimeUs;
  /** When it arrived. */
  synced_at: TimeMs;
  /** Degrees, WGS 84. */
  latitude: number;
  longitude: number;
}

/** How much an organisation has stored. */
export interface DataUsageTable {
  org_id: Fixed<string>;
  readings: number;
  /** Bytes of JSON. */
  reading_bytes: number;
  files: number;
  file_bytes: number;
}

/** The tables of captured data. */
export interface DataTables {
  data_sources: DataSourcesTable;
  data_uploads: DataUploadsTable;
  tabular_readings: TabularReadingsTable;
  binary_data: BinaryDataTable;
  binary_tags: BinaryTagsTable;
  binary_annotations: BinaryAnnotationsTable;
  datasets: DatasetsTable;
  dataset_files: DatasetFilesTable;
  data_settings: DataSettingsTable;
  data_usage: DataUsageTable;
  archived_files: ArchivedFilesTable;
  archived_sources: ArchivedSourcesTable;
  replaced_files: ReplacedFilesTable;
  machine_positions: MachinePositionsTable;
}
