/** Whether the files of old readings that the database names are there. Nothing is changed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { S3Settings } from "../../storage/blobs/s3_settings.ts";
import type { ArchivedFiles } from "../../storage/postgres/inspect.ts";
import { failed, type Finding, ok, skipped } from "./check.ts";

const FOLDER = "data-archive";
const CHECK = "old readings";
/** Files that are looked at. */
export const MOST_FILES = 100_000;
/** Files that are named where more are wrong. */
const MOST_NAMED = 5;

export interface ArchiveCheck {
  readonly dataDir: string;
  /** What the database names. */
  readonly archived: ArchivedFiles;
  /** Reads that once more: a cloud that serves removes files meanwhile. */
  readonly again: () => ArchivedFiles | Promise<ArchivedFiles>;
  /** Where files are besides the folder, as far as is known. */
  readonly objectStorage: S3Settings | "unknown" | undefined;
}

/** Looks at the size of each file, and not into it. */
export async function checkArchive(
  { dataDir, archived, again, objectStorage }: ArchiveCheck,
  clock: Clock,
): Promise<Finding[]> {
  const { files, count } = archived;
  if (count === 0) return [];
  const differ = new Map<string, string>();
  const compare = (id: string, size: number, expected: number) => {
    if (size !== expected) differ.set(id, `${id} has ${size} of ${expected} bytes`);
  };
  const elsewhere = new Map<string, number>();
  for (const { id, size } of files) {
    const found = await sizeOf(join(dataDir, FOLDER, id));
    if (found === undefined) elsewhere.set(id, size);
    else compare(id, found, size);
  }
  const findings: Finding[] = [];
  if (objectStorage === "unknown" && elsewhere.size > 0) {
    findings.push(skipped(
      CHECK,
      `${elsewhere.size} files are not in ${FOLDER} of the data folder`,
      "where serve has an object storage, give it as --blob-store, too",
    ));
  } else {
    try {
      if (elsewhere.size > 0 && objectStorage && objectStorage !== "unknown") {
        for await (const { id, size } of objectsUntil(files.at(-1)?.id, objectStorage, clock)) {
          const expected = elsewhere.get(id);
          if (expected === undefined) continue;
          elsewhere.delete(id);
          compare(id, size, expected);
        }
      }
      for (const id of elsewhere.keys()) differ.set(id, `${id} is missing`);
    } catch (error) {
      const advice = "correct --blob-store or its keys; files there were not looked at";
      findings.push(failed(CHECK, toError(error).message, advice));
    }
  }
  const wrong = differ.size > 0 ? await named(differ, again) : [];
  const of = count > files.length
    ? `the first ${files.length} of ${count} files`
    : `${count} files`;
  if (wrong.length > 0) {
    const some = wrong.slice(0, MOST_NAMED).join(", ");
    const others = wrong.length > MOST_NAMED ? `, and ${wrong.length - MOST_NAMED} others` : "";
    findings.unshift(failed(
      CHECK,
      `${wrong.length} of ${of} are not as they were written: ${some}${others}`,
      `put them back into ${FOLDER} from a backup, or from the versions of the object storage; ` +
        "until then calls that need them fail",
    ));
  }
  return findings.length > 0
    ? findings
    : [ok(CHECK, `${of} are there, with the size that they had`)];
}

/** What is said of files that the database still names. */
async function named(
  differ: ReadonlyMap<string, string>,
  again: ArchiveCheck["again"],
): Promise<string[]> {
  try {
    const { files, count } = await again();
    const ids = new Set(files.map(({ id }) => id));
    const last = count > files.length ? files.at(-1)?.id : undefined;
    return [...differ].filter(([id]) => ids.has(id) || last !== undefined && id > last)
      .map(([, text]) => text);
  } catch {
    return [...differ.values()]; // that it cannot be read is for another check
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await Deno.stat(path)).size;
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Objects by id, up to one. */
async function* objectsUntil(last: string | undefined, settings: S3Settings, clock: Clock) {
  const { S3Client } = await import("../../storage/blobs/s3_client.ts");
  const { S3BlobStore } = await import("../../storage/blobs/s3_blob_store.ts");
  const store = new S3BlobStore(new S3Client(settings, clock), FOLDER, () => Promise.resolve());
  for await (const object of store.sizes()) {
    if (last === undefined || object.id > last) return;
    yield object;
  }
}

/** What a cloud on SQLite names; nothing where that cannot be read, which another check reports. */
export function sqliteArchive(dataDir: string): ArchivedFiles {
  if (!existsSync(join(dataDir, "cloud.db"))) return NO_FILES;
  try {
    return readSqliteArchive(dataDir);
  } catch {
    return NO_FILES;
  }
}

/** What a cloud on SQLite names. Throws where that cannot be read. */
export function readSqliteArchive(dataDir: string): ArchivedFiles {
  const path = join(dataDir, "cloud.db");
  const db = connect(path, addonFor(path), true);
  try {
    const files = db.prepare<[number], ArchivedFiles["files"][number]>(
      "SELECT id, size FROM archived_files ORDER BY id LIMIT ?",
    ).all(MOST_FILES);
    const count = db.prepare<[], number>("SELECT count(*) FROM archived_files").pluck().get() ?? 0;
    return { files, count };
  } finally {
    db.close();
  }
}

export const NO_FILES: ArchivedFiles = { files: [], count: 0 };
