import type { S3Settings } from "../../storage/blobs/s3_settings.ts";
import type { Grant } from "../../accounts/access/caller.ts";

/** What is sent to the process that runs queries, as one line of JSON. */
export interface QueryTask extends QueryRequest {
  /** Left out: the readings are in `cloud.db`. */
  readonly remote?: RemoteReadings | undefined;
  /** Where old readings are besides the data folder. */
  readonly objects?: ObjectStorage | undefined;
}

/** An object storage, with the secrets of its settings in clear. */
export type ObjectStorage =
  & Omit<S3Settings, "secretAccessKey" | "sessionToken">
  & { readonly secretAccessKey: string; readonly sessionToken: string | undefined };

/** Readings that are on PostgreSQL. */
export interface RemoteReadings {
  /** See `CloudDatabase.reader`. */
  readonly reader: string;
  /** After this the server ends a statement that reads. */
  readonly limitMs: number;
}

/** One query. */
export interface QueryRequest {
  readonly scope: QueryScope;
  readonly query:
    | { readonly kind: "sql"; readonly text: string }
    /** Stages of a pipeline, each a BSON document in base64. */
    | { readonly kind: "mql"; readonly stages: readonly string[] };
}

/** Whose readings a query sees. */
export interface QueryScope {
  readonly orgId: string;
  readonly grants: readonly Pick<Grant, "resource" | "id">[];
  /** Left out: all of them. Microseconds since 1970; the end does not belong to it. */
  readonly span?: { readonly fromUs: number; readonly toUs: number } | undefined;
  /** Left out: the readings. In place of them what this data pipeline has kept, in MQL only. */
  readonly pipelineId?: string | undefined;
}

/**
 * What it answers: a line of JSON, and behind that the rows as BSON documents, one after the
 * other; a BSON document begins with its length.
 */
export type QueryAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "rows"; readonly rows: number; readonly bytes: number }
  /** The query is wrong. */
  | { readonly kind: "refused"; readonly message: string }
  /** There are more rows than an answer may have. */
  | { readonly kind: "too-large"; readonly message: string }
  /** A file of old readings is not what was written. */
  | { readonly kind: "damaged"; readonly id: string; readonly message: string }
  /** The database or this program failed. */
  | { readonly kind: "failed"; readonly message: string };

/** Most rows of an answer. */
export const MOST_ROWS = 100_000;
/** Most bytes of an answer; a message may have 32 MiB. */
export const MOST_BYTES = 24 * 1024 * 1024;
/** Most rows that a query reads where readings are on PostgreSQL or in files. */
export const MOST_READ_ROWS = 4_000_000;
/** Most bytes of the disk that they take meanwhile. */
export const MOST_READ_BYTES = 1024 ** 3;
/** Longest text of a query. */
export const LONGEST_QUERY = 64 * 1024;
