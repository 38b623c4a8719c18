import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import {
  AnnotationsSchema,
  type BinaryDataSchema,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type {
  BinaryAnnotationsTable,
  BinaryDataTable,
} from "../../storage/database/data_schema.ts";
import { BlobStorageError, type BlobStore } from "../../storage/blobs/blob_store.ts";
import { binaryDataId } from "./binary_ids.ts";
import { captureMetadata } from "./capture_metadata.ts";
import type { FileUrls } from "./file_urls.ts";
import type { NamedSource } from "./filters.ts";
import { timestampOf } from "./times.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type FileRow = Selectable<BinaryDataTable>;
/** A file with where it was captured, under the names of now. */
export type NamedFile = FileRow & Omit<NamedSource, "id" | "org_id">;
type Annotation = Selectable<BinaryAnnotationsTable>;
type BinaryDataInit = MessageInitShape<typeof BinaryDataSchema>;

/** Bytes of files in one answer; a message may have 32 MiB. */
export const MOST_BYTES_IN_ANSWER = 24 * 1024 * 1024;

/** Adds to files what the tables next to theirs say, and returns it in the protocol's form. */
export async function toBinaryData(
  queries: Queries,
  urls: FileUrls,
  files: readonly NamedFile[],
): Promise<BinaryDataInit[]> {
  if (files.length === 0) return [];
  const ids = files.map(({ id }) => id);
  const tags = grouped(
    await queries.selectFrom("binary_tags").selectAll().where("binary_id", "in", ids)
      .orderBy("tag").execute(),
  );
  const annotations = grouped(
    await queries.selectFrom("binary_annotations").selectAll().where("binary_id", "in", ids)
      .orderBy("label").orderBy("id").execute(),
  );
  const datasets = grouped(
    await queries.selectFrom("dataset_files").selectAll().where("binary_id", "in", ids)
      .orderBy("dataset_id").execute(),
  );
  return files.map((file) => {
    const tagList = JSON.stringify((tags.get(file.id) ?? []).map(({ tag }) => tag));
    return {
      metadata: {
        id: file.id,
        captureMetadata: captureMetadata(
          file,
          { tags: tagList, parameters: file.parameters },
          file.mime_type,
        ),
        timeRequested: timestampOf(file.requested_us),
        timeReceived: timestampOf(file.received_us),
        fileName: file.file_name,
        fileExt: file.file_extension,
        uri: urls.plain(file),
        annotations: toAnnotations(annotations.get(file.id) ?? []),
        datasetIds: (datasets.get(file.id) ?? []).map(({ dataset_id }) => dataset_id),
        binaryDataId: binaryDataId(file, file.id),
        fileSizeBytes: BigInt(file.size),
      },
    };
  });
}

/**
 * Reads a file whole.
 *
 * @throws {ConnectError} RESOURCE_EXHAUSTED for one that no answer can hold.
 */
export async function readWhole(
  store: BlobStore,
  file: FileRow,
): Promise<Uint8Array<ArrayBuffer>> {
  if (file.size > MOST_BYTES_IN_ANSWER) {
    throw refusal(
      "TOO_LARGE",
      { most: MOST_BYTES_IN_ANSWER },
      `the file ${file.id} has ${file.size} bytes, and an answer holds ${MOST_BYTES_IN_ANSWER}; ` +
        "leave include_binary out and download it from metadata.uri",
      Code.ResourceExhausted,
    );
  }
  try {
    return await readBytes(store, file);
  } catch (error) {
    if (!(error instanceof BlobStorageError)) throw error;
    const message = "the storage of files is unavailable; try again later";
    throw refusal("STORAGE_AWAY", {}, message, Code.Unavailable, error);
  }
}

async function readBytes(store: BlobStore, file: FileRow): Promise<Uint8Array<ArrayBuffer>> {
  using opened = await store.read(file.id);
  if (!opened) {
    throw refusal(
      "FILE_GONE",
      { id: file.id },
      `the bytes of the file ${file.id} were deleted`,
      Code.DataLoss,
    );
  }
  const bytes = new Uint8Array(file.size);
  for (let at = 0; at < bytes.length;) {
    const count = await opened.read(bytes.subarray(at));
    if (count === null) {
      throw refusal("FILE_GONE", { id: file.id }, `the file ${file.id} is cut`, Code.DataLoss);
    }
    at += count;
  }
  return bytes;
}

function toAnnotations(rows: readonly Annotation[]) {
  const confidence = (row: Annotation) =>
    row.confidence === null ? {} : { confidence: row.confidence };
  return create(AnnotationsSchema, {
    bboxes: rows.filter(({ kind }) => kind === "box").map((row) => ({
      id: row.id,
      label: row.label,
      xMinNormalized: row.x_min,
      yMinNormalized: row.y_min,
      xMaxNormalized: row.x_max,
      yMaxNormalized: row.y_max,
      ...confidence(row),
    })),
    classifications: rows.filter(({ kind }) => kind === "classification").map((row) => ({
      id: row.id,
      label: row.label,
      ...confidence(row),
    })),
  });
}

function grouped<Row extends { readonly binary_id: string }>(
  rows: readonly Row[],
): Map<string, Row[]> {
  return Map.groupBy(rows, ({ binary_id }) => binary_id);
}
