import type { ColumnType, Generated } from "kysely";
import type { ActorType, ResourceType, Visibility } from "./row_types.ts";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** A piece of configuration that several machines share. */
export interface FragmentsTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  /** Unique in the organisation. */
  name: string;
  visibility: Visibility;
  created_at: Fixed<TimeMs>;
  /** Rises with every save, also when the clock does not. */
  last_updated: TimeMs;
  /** Number of the newest row in fragment_revisions. */
  revision_number: number;
}

/** One saved state of a fragment. Rows are never changed; the database refuses it. */
export interface FragmentRevisionsTable {
  fragment_id: Fixed<string>;
  /** 1, 2, 3 … within the fragment; as text it is the revision's name. */
  number: Fixed<number>;
  name: Fixed<string>;
  visibility: Fixed<Visibility>;
  /** JSON text as it was sent. */
  config: Fixed<string>;
  saved_at: Fixed<TimeMs>;
  saved_by_type: Fixed<ActorType>;
  saved_by: Fixed<string>;
}

export interface FragmentTagsTable {
  fragment_id: Fixed<string>;
  tag: Fixed<string>;
  number: number;
}

/** What the newest revision of a fragment includes. */
export interface FragmentChildrenTable {
  fragment_id: Fixed<string>;
  child_id: Fixed<string>;
}

/** Every fragment in the configuration of a part, those within others, too. */
export interface PartFragmentsTable {
  part_id: Fixed<string>;
  fragment_id: Fixed<string>;
  revision: Fixed<string>;
}

/** Configurations with what they include, each once. */
export interface ResolvedConfigsTable {
  /** SHA-256 of the text, hexadecimal. */
  hash: Fixed<string>;
  /** JSON text. */
  config: Fixed<string>;
}

/** What a part with fragments gets. A part without has no row. */
export interface PartResolvedTable {
  part_id: Fixed<string>;
  hash: string;
  /** Why it is not what the fragments say now; empty: it is. */
  problem: string;
}

/** Changes of fragments that have not reached all parts. */
export interface FragmentRolloutsTable {
  seq: Generated<number>;
  fragment_id: Fixed<string>;
  /** Parts up to this id have it. */
  after_part_id: string;
  saved_by_type: Fixed<ActorType>;
  saved_by: Fixed<string>;
  created_at: Fixed<TimeMs>;
}

/** Notes of programs on an organisation, a location, a machine or a part. */
export interface ResourceMetadataTable {
  resource_type: Fixed<ResourceType | "part">;
  resource_id: Fixed<string>;
  /** JSON object. */
  data: string;
}

/** What a part's programs get: a view of its newest revision with its fragments. */
export interface PartConfigsView {
  part_id: Fixed<string>;
  number: Fixed<number>;
  revision: Fixed<string>;
  /** JSON text. */
  config: Fixed<string>;
}

export interface FragmentTables {
  fragments: FragmentsTable;
  fragment_revisions: FragmentRevisionsTable;
  fragment_tags: FragmentTagsTable;
  fragment_children: FragmentChildrenTable;
  part_fragments: PartFragmentsTable;
  resolved_configs: ResolvedConfigsTable;
  part_resolved: PartResolvedTable;
  fragment_rollouts: FragmentRolloutsTable;
  resource_metadata: ResourceMetadataTable;
  part_configs: PartConfigsView;
}
