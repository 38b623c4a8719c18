import { join } from "node:path";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { writeAll } from "../../../shared/base/files/write_all.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { customLine, type DatasetFile, type DatasetForm, managedLine } from "./dataset_lines.ts";

export interface WriteDatasetOptions {
  readonly queries: Queries;
  /** Holds the bytes of the files. */
  readonly files: Pick<BlobStore, "read">;
  readonly orgId: string;
  readonly datasetId: string;
  /** A folder that is there; the dataset is written into it. */
  readonly folder: string;
  readonly form: DatasetForm;
  readonly signal: AbortSignal;
}

export interface WrittenDataset {
  /** The file of JSON lines, relative to the folder. */
  readonly datasetFile: string;
  /** How many files it names. 0 when the dataset is empty, or gone. */
  readonly images: number;
}

const DATASET_FILE = "dataset.jsonl";
/** Below the folder; the files lie in it. */
const FILES_FOLDER = "data";
/** Files read from the database at once. */
const SLICE = 200;
/** Files copied side by side: their store may be far away. */
const COPIES = 8;

/**
 * Writes a dataset out for a training script: a file with a line of JSON for each of its files, and
 * the files next to it. A file whose bytes are gone, because somebody deletes data meanwhile, is
 * left out.
 *
 * @throws {FileError} when the disk refuses; what the store throws; the signal's reason.
 */
export async function writeDataset(options: WriteDatasetOptions): Promise<WrittenDataset> {
  const { folder, form, signal } = options;
  const path = join(folder, DATASET_FILE);
  const writer = new TextEncoder();
  let images = 0;
  try {
    await Deno.mkdir(join(folder, FILES_FOLDER), { recursive: true, mode: 0o700 });
    using lines = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    for await (const slice of slicesOf(options)) {
      for (let at = 0; at < slice.length; at += COPIES) {
        const copies = slice.slice(at, at + COPIES).map((file) => writeFile(options, file));
        // When one fails the others are waited for: nothing writes here after the end.
        await Promise.allSettled(copies);
        const found = (await Promise.all(copies)).filter((line) => line !== undefined);
        images += found.length;
        await writeAll(lines, writer.encode(found.map((line) => `${line}\n`).join("")));
      }
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toFileError(error, `write the dataset of a ${form.kind} training job to`, folder);
  }
  return { datasetFile: DATASET_FILE, images };
}

interface StoredDatasetFile extends DatasetFile {
  readonly file_extension: string;
}

/** The dataset's files, in the order of their ids. */
async function* slicesOf(
  { queries, orgId, datasetId, form, signal }: WriteDatasetOptions,
): AsyncGenerator<StoredDatasetFile[]> {
  for (let after = "";;) {
    signal.throwIfAborted();
    let query = queries.selectFrom("dataset_files as d")
      .innerJoin("datasets", "datasets.id", "d.dataset_id")
      .innerJoin("binary_data as b", "b.id", "d.binary_id")
      .innerJoin("data_sources as s", "s.id", "b.source_id")
      .select(["b.id", "b.org_id", "b.requested_us", "b.file_extension"])
      .select(["s.location_id", "s.machine_id", "s.part_id", "s.component_name"])
      .where("d.dataset_id", "=", datasetId).where("datasets.org_id", "=", orgId)
      .where("b.org_id", "=", orgId).where("d.binary_id", ">", after);
    if (form.kind === "managed") query = query.where("b.mime_type", "like", "image/%");
    const rows = await query.orderBy("d.binary_id").limit(SLICE).execute();
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
    yield await annotated(queries, rows);
  }
}

type FileRow = Omit<StoredDatasetFile, "tags" | "annotations">;

async function annotated(queries: Queries, rows: FileRow[]): Promise<StoredDatasetFile[]> {
  const ids = rows.map(({ id }) => id);
  const tags = await queries.selectFrom("binary_tags").selectAll().where("binary_id", "in", ids)
    .orderBy("tag").execute();
  const annotations = await queries.selectFrom("binary_annotations").selectAll()
    .where("binary_id", "in", ids).orderBy("label").orderBy("id").execute();
  const tagsOf = Map.groupBy(tags, ({ binary_id }) => binary_id);
  const annotationsOf = Map.groupBy(annotations, ({ binary_id }) => binary_id);
  return rows.map((row) => ({
    ...row,
    tags: (tagsOf.get(row.id) ?? []).map(({ tag }) => tag),
    annotations: annotationsOf.get(row.id) ?? [],
  }));
}

/** Copies a file and gives its line; undefined for one that is left out. */
async function writeFile(
  { files, folder, form, signal }: WriteDatasetOptions,
  file: StoredDatasetFile,
): Promise<string | undefined> {
  const path = `${FILES_FOLDER}/${file.id}${safeExtension(file.file_extension)}`;
  const line = form.kind === "custom" ? customLine(file, path) : managedLine(file, path, form);
  if (line === undefined) return undefined;
  const source = await files.read(file.id);
  if (!source) return undefined;
  const options = { createNew: true, mode: 0o600, signal };
  await Deno.writeFile(join(folder, path), source.readable, options);
  return line;
}

/** What machines send as an extension may hold anything. */
function safeExtension(extension: string): string {
  return /^(\.[A-Za-z0-9_-]{1,16}){1,3}$/.test(extension) ? extension : "";
}
