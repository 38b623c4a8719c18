/** Moves large files of a cloud between its data folder and an object storage. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import { writeAll } from "../../../shared/base/files/write_all.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import { BLOB_FOLDERS, type BlobFolder, storageId } from "../../storage/blobs/blob_places.ts";
import type { Blob, BlobReader, BlobStore } from "../../storage/blobs/blob_store.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { S3BlobStore } from "../../storage/blobs/s3_blob_store.ts";
import { S3Client } from "../../storage/blobs/s3_client.ts";
import { claimPlace } from "../../storage/blobs/s3_owner.ts";
import type { S3Settings } from "../../storage/blobs/s3_settings.ts";
import { openDatabase } from "../../storage/data_folder/database_choice.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import type { MoveDeps } from "./copy.ts";

export interface FilesMove {
  readonly objectStorage: S3Settings;
  readonly to: "objects" | "folder";
  /** Removes each file where it was, after it was compared once more. */
  readonly remove: boolean;
}

/** What was moved. */
export interface FilesMoved {
  /** Files that are on both sides and the same, and their bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Those of them that were copied this time. */
  readonly copied: number;
  readonly removed: number;
  readonly from: string;
  readonly to: string;
}

/** What a store of either kind can do. */
type Store = BlobStore & { ids(): AsyncIterable<string> };

/** A file that was copied and compared. */
type Noted = Pick<Blob, "id" | "size" | "sha256">;

/** In the data folder: what was copied and compared, a line each. */
const NOTES = "files-moved";
/** Files here may be written again under their ids. */
const REWRITTEN = "data-exports";
const TELL_EVERY_MS = 5_000;

/**
 * Copies each file, reads it back and compares SHA-256, also while the cloud serves. Cut anywhere,
 * it continues when it is called again.
 *
 * @throws {StoreError}, {FileError}, {BlobStorageError}, {DatabaseChoiceError}, each with one line
 * for the operator.
 */
export async function moveFiles(
  dataDir: string,
  { objectStorage, to, remove }: FilesMove,
  deps: MoveDeps,
): Promise<FilesMoved> {
  const client = new S3Client(objectStorage, deps.clock, deps.progress);
  const database = await openDatabase(dataDir);
  try {
    await claimPlace(client, await storageId(database.queries, systemRandom));
  } finally {
    await database.close();
  }
  const sides = async (folder: BlobFolder) => {
    const objects: Store = new S3BlobStore(client, folder, () => Promise.resolve());
    const files: Store = await FolderBlobStore.open(join(dataDir, folder));
    return to === "objects" ? [files, objects] as const : [objects, files] as const;
  };
  using notes = await Notes.open(dataDir, to);
  const report = new Report(deps);
  for (const folder of BLOB_FOLDERS) {
    const [source, target] = await sides(folder);
    for await (const id of source.ids()) await copy(folder, id, source, target, notes, report);
  }
  let removed = 0;
  for (const folder of remove ? BLOB_FOLDERS : []) {
    const [source, target] = await sides(folder);
    for await (const id of source.ids()) {
      // What came in the meantime is not noted, and stays.
      const noted = notes.of(folder, id);
      if (noted === undefined) continue;
      // An export is written again under its id; the next call copies it.
      if (!await isSame(noted, source)) continue;
      await requireSame(`${folder}/${id}`, noted, target);
      await source.remove(id);
      faultPoint("move.file.removed");
      if (!await isThere(source, id)) removed++;
      else deps.progress(`${folder}/${id} could not be removed; run this again`);
    }
  }
  if (remove) await notes.end();
  const places = [dataDir, client.place] as const;
  const [at, goal] = to === "objects" ? places : [places[1], places[0]];
  return {
    files: report.files,
    bytes: report.bytes,
    copied: report.copied,
    removed,
    from: at,
    to: goal,
  };
}

async function copy(
  folder: BlobFolder,
  id: string,
  source: Store,
  target: Store,
  notes: Notes,
  report: Report,
): Promise<void> {
  const known = notes.of(folder, id);
  const isKnown = known !== undefined && (folder !== REWRITTEN || await isSame(known, source));
  if (isKnown && await isThere(target, id)) return report.add(known.size, false);
  const reader = await source.read(id);
  if (!reader) return; // it was removed in the meantime
  const copied = await target.receive(id, reader.readable, Infinity);
  faultPoint("move.file.copied");
  await requireSame(`${folder}/${id}`, copied, target);
  await notes.add(folder, copied);
  faultPoint("move.file.compared");
  report.add(copied.size, true);
}

async function isThere(store: Store, id: string): Promise<boolean> {
  const reader = await store.read(id);
  reader?.close();
  return reader !== undefined;
}

/** @throws {StoreError} when a file is not as it was read */
async function requireSame(
  name: string,
  blob: Noted,
  target: Store,
): Promise<void> {
  if (await isSame(blob, target)) return;
  throw new StoreError(
    "failed",
    `The copy of ${name} is not as the file was read. Nothing is removed; look at the storage, ` +
      "and run this again.",
  );
}

async function isSame({ id, size, sha256 }: Noted, store: Store): Promise<boolean> {
  const reader: BlobReader | undefined = await store.read(id);
  if (!reader) return false;
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of reader.readable) {
    hash.update(piece);
    bytes += piece.length;
  }
  return bytes === size && hash.digest("hex") === sha256;
}

/** Which files are known to be the same on both sides. */
class Notes implements Disposable {
  readonly #known = new Map<string, Noted>();

  private constructor(
    private readonly path: string,
    private readonly to: string,
    private readonly file: Deno.FsFile,
  ) {}

  static async open(dataDir: string, to: string): Promise<Notes> {
    const path = join(dataDir, NOTES);
    const text = await readIfExists(path) ?? "";
    const file = await Deno.open(path, { append: true, create: true, mode: 0o600 });
    const notes = new Notes(path, to, file);
    // A line that was cut is of a file that is copied again.
    if (text !== "" && !text.endsWith("\n")) await writeAll(file, new TextEncoder().encode("\n"));
    for (const line of text.split("\n")) {
      const [goal, folder, id = "", size, sha256 = ""] = line.split(" ");
      if (goal !== to || !/^[0-9a-f]{64}$/.test(sha256)) continue;
      notes.#known.set(`${folder}/${id}`, { id, size: Number(size), sha256 });
    }
    return notes;
  }

  of(folder: string, id: string): Noted | undefined {
    return this.#known.get(`${folder}/${id}`);
  }

  async add(folder: string, blob: Noted): Promise<void> {
    const { id, size, sha256 } = blob;
    const line = `${this.to} ${folder} ${id} ${size} ${sha256}\n`;
    await writeAll(this.file, new TextEncoder().encode(line));
    this.#known.set(`${folder}/${id}`, { id, size, sha256 });
  }

  /** All is moved. */
  async end(): Promise<void> {
    await Deno.remove(this.path);
    await syncFolder(join(this.path, ".."));
  }

  [Symbol.dispose](): void {
    this.file.close();
  }
}

/** Says how far it is. */
class Report {
  files = 0;
  bytes = 0;
  copied = 0;
  #toldMs: number;

  constructor(private readonly deps: MoveDeps) {
    this.#toldMs = deps.clock.monotonicMs();
  }

  add(bytes: number, isNew: boolean): void {
    this.files++;
    this.bytes += bytes;
    if (isNew) this.copied++;
    const now = this.deps.clock.monotonicMs();
    if (now - this.#toldMs < TELL_EVERY_MS) return;
    this.#toldMs = now;
    this.deps.progress(`files: ${this.files} are there, ${this.copied} of them copied now`);
  }
}
