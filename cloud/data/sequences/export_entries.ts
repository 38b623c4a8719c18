import { sql } from "kysely";
import { Scope } from "../../accounts/access/scope.ts";
import { parseObject, parseTexts } from "../ingest/stored_json.ts";
import { named } from "../ingest/binary_methods.ts";
import { toBinaryData } from "../ingest/binary_messages.ts";
import type { NamedFile } from "../ingest/binary_messages.ts";
import type { FileUrls } from "../ingest/file_urls.ts";
import type { Readings } from "../ingest/readings.ts";
import { dateOf, isoText } from "../ingest/times.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { type SequenceSpan, spanOf } from "./sequence_data.ts";
import { resourcesOf, type SequenceRow } from "./sequence_form.ts";
import type { TarEntry } from "./tar_stream.ts";

export interface ExportSources {
  readonly queries: Queries;
  readonly readings: Readings;
  readonly files: BlobStore;
  readonly urls: FileUrls;
}

/** A dataset that is exported. */
export interface ExportedDataset {
  readonly id: string;
  readonly org_id: string;
  readonly name: string;
}

/** Lines of one file of readings; a file is held in memory while it is made. */
const READINGS_AT_ONCE = 10_000;
const FILES_AT_ONCE = 200;

/**
 * The files of an export: for each sequence `ID/readings-0001.jsonl`, `ID/files/FILE` and
 * `ID/files-0001.jsonl`, and at the end `dataset.json`, which says what there is.
 */
export async function* exportEntries(
  from: ExportSources,
  dataset: ExportedDataset,
  now: Date,
): AsyncIterable<TarEntry> {
  const scope = new Scope(from.queries, {
    actor: { type: "api-key", id: "export" },
    orgId: dataset.org_id,
    grants: [{ role: "owner", resource: "organization", id: dataset.org_id }],
  });
  const described = [];
  let after = 0;
  while (true) {
    const row = await scope.sequences().selectAll("sequences")
      .innerJoin("dataset_sequences", "dataset_sequences.sequence_id", "sequences.id")
      .where("dataset_sequences.dataset_id", "=", dataset.id)
      .where("sequences.seq", ">", after).orderBy("sequences.seq").limit(1).executeTakeFirst();
    if (!row) break;
    after = row.seq;
    const span = await spanOf(scope, row);
    const counts = { readings: 0, files: 0, missing_files: 0 };
    yield* readingEntries(from, row, span, counts, now);
    yield* fileEntries(from, scope, row, span, counts, now);
    described.push({ ...describe(row), ...counts });
  }
  yield textEntry(
    "dataset.json",
    now,
    JSON.stringify(
      {
        id: dataset.id,
        name: dataset.name,
        organization_id: dataset.org_id,
        exported_at: now.toISOString(),
        sequences: described,
      },
      undefined,
      2,
    ),
  );
}

interface Counts {
  readings: number;
  files: number;
  /** Whose bytes went while the export ran. */
  missing_files: number;
}

async function* readingEntries(
  { readings }: ExportSources,
  { id }: SequenceRow,
  { sources, span }: SequenceSpan,
  counts: Counts,
  now: Date,
): AsyncIterable<TarEntry> {
  const byId = new Map(sources.map((source) => [source.id, source]));
  let lines: string[] = [];
  let number = 0;
  const file = () => {
    const entry = textEntry(`${id}/readings-${numbered(++number)}.jsonl`, now, lines.join("\n"));
    lines = [];
    return entry;
  };
  for await (const row of readings.all([...byId.keys()], span)) {
    const source = byId.get(row.source_id);
    lines.push(JSON.stringify({
      time_requested: isoText(row.requested_us),
      time_received: isoText(row.received_us),
      resource_name: source?.component_name,
      resource_subtype: source?.component_type,
      method_name: source?.method_name,
      tags: parseTexts(row.tags),
      data: parseObject(row.data),
    }));
    counts.readings++;
    if (lines.length === READINGS_AT_ONCE) yield file();
  }
  if (lines.length > 0) yield file();
}

async function* fileEntries(
  { queries, files, urls }: ExportSources,
  scope: Scope,
  { id }: SequenceRow,
  { sources, span }: SequenceSpan,
  counts: Counts,
  now: Date,
): AsyncIterable<TarEntry> {
  let last: NamedFile | undefined;
  for (let number = 1;; number++) {
    let query = named(scope.binaryData())
      .where("binary_data.source_id", "in", sources.map((source) => source.id))
      .where("binary_data.received_us", ">=", span.fromUs)
      .where("binary_data.received_us", "<", span.toUs)
      .orderBy("binary_data.received_us").orderBy("binary_data.id").limit(FILES_AT_ONCE);
    if (last) {
      query = query.where(
        sql<boolean>`(binary_data.received_us, binary_data.id) > (${last.received_us}, ${last.id})`,
      );
    }
    const rows = await query.execute();
    const messages = await toBinaryData(queries, urls, rows);
    const lines: string[] = [];
    for (const [index, row] of rows.entries()) {
      using opened = await files.read(row.id);
      if (!opened) {
        counts.missing_files++;
        continue;
      }
      const path = `files/${row.id}${safeExtension(row.file_extension)}`;
      const entry = { path: `${id}/${path}`, size: row.size, modified: dateOf(row.received_us) };
      yield { ...entry, contents: opened.readable };
      lines.push(JSON.stringify({ path, ...fileFacts(row, messages[index]) }));
      counts.files++;
    }
    if (lines.length > 0) {
      yield textEntry(`${id}/files-${numbered(number)}.jsonl`, now, lines.join("\n"));
    }
    last = rows.at(-1);
    if (rows.length < FILES_AT_ONCE) return;
  }
}

type FileMessage = Awaited<ReturnType<typeof toBinaryData>>[number];

function fileFacts(row: NamedFile, message: FileMessage | undefined) {
  const metadata = message?.metadata;
  return {
    id: row.id,
    file_name: row.file_name,
    mime_type: row.mime_type,
    size: row.size,
    sha256: row.sha256,
    time_requested: isoText(row.requested_us),
    time_received: isoText(row.received_us),
    resource_name: row.component_name,
    resource_subtype: row.component_type,
    method_name: row.method_name,
    tags: metadata?.captureMetadata?.tags ?? [],
    bounding_boxes: (metadata?.annotations?.bboxes ?? []).map((box) => ({
      label: box.label,
      confidence: box.confidence,
      x_min_normalized: box.xMinNormalized,
      y_min_normalized: box.yMinNormalized,
      x_max_normalized: box.xMaxNormalized,
      y_max_normalized: box.yMaxNormalized,
    })),
    classifications: (metadata?.annotations?.classifications ?? []).map((one) => ({
      label: one.label,
      confidence: one.confidence,
    })),
  };
}

function describe(row: SequenceRow) {
  return {
    id: row.id,
    part_id: row.part_id,
    start_time: isoText(row.start_us),
    end_time: isoText(row.end_us),
    resources: resourcesOf(row).map(({ resource, method }) => ({
      resource_name: resource,
      method_name: method,
    })),
    tags: parseTexts(row.tags),
  };
}

function textEntry(path: string, modified: Date, text: string): TarEntry {
  const bytes = new TextEncoder().encode(`${text}\n`);
  return { path, size: bytes.length, modified, contents: [bytes] };
}

function numbered(number: number): string {
  return String(number).padStart(4, "0");
}

/** What machines send as an extension may hold anything. */
function safeExtension(extension: string): string {
  return /^(\.[A-Za-z0-9_-]{1,16}){1,2}$/.test(extension) && extension.length <= 17
    ? extension
    : "";
}
