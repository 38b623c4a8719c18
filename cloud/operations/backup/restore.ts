import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import { writeAll } from "../../../shared/base/files/write_all.ts";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { lockFolder } from "../../storage/data_folder/serve_lock.ts";
import { UNFINISHED_RESTORE } from "../../storage/data_folder/unfinished_restore.ts";
import { ABOUT_ENTRY, BackupError, readBackup } from "./archive.ts";
import { DATABASES } from "./folder_files.ts";

/** The newest schema that this program knows, by database. */
export type KnownSchemas = Readonly<Record<(typeof DATABASES)[number], number>>;

export interface RestoreResult {
  readonly files: number;
  readonly bytes: number;
  /** When the backup was made, ISO 8601. */
  readonly madeAt: string;
}

interface About {
  readonly format: number;
  readonly made_at: string;
  readonly program: string;
  readonly schema: Readonly<Record<string, number>>;
}

const LOCK = "serve.lock";
/** Letters that names in a data folder have; nothing that leads elsewhere. */
const SAFE_PATH = /^[A-Za-z0-9_][\w.-]*(\/[A-Za-z0-9_][\w.-]*)*$/;
/** What the first entry may be at most, bytes. */
const LONGEST_ABOUT = 64 * 1024;

/**
 * Makes a data folder out of a backup. The folder has to be empty, or one in which a restore was
 * cut, which is begun again. Until everything is there, checked and on the disk, a mark in the
 * folder keeps every other command from using it.
 *
 * @throws {BackupError}, {DataFolderInUseError} or {FileError}, each with one line for the operator.
 */
export async function restore(
  file: string,
  folder: string,
  known: KnownSchemas,
): Promise<RestoreResult> {
  const dataDir = resolve(folder);
  using archive = await open(file);
  try {
    await requireFree(dataDir);
    using _lock = await lockFolder(
      dataDir,
      LOCK,
      `another program works on ${dataDir}; stop it first`,
    );
    await requireFree(dataDir);
    await writeFileAtomic(
      join(dataDir, UNFINISHED_RESTORE),
      `machine-cloud restore was cut here. Run it again, or remove this folder.\n`,
    );
    faultPoint("restore.marked");
    for (const name of await namesIn(dataDir)) {
      await Deno.remove(join(dataDir, name), { recursive: true });
    }
    const result = await unpack(archive, file, dataDir, known);
    faultPoint("restore.unpacked");
    for (const name of DATABASES) checkDatabase(join(dataDir, name));
    await Deno.remove(join(dataDir, UNFINISHED_RESTORE));
    faultPoint("restore.done");
    await syncFolder(dataDir);
    return result;
  } catch (error) {
    if (fsErrorCode(error) === undefined) throw error;
    throw toFileError(error, "restore into", dataDir);
  }
}

async function open(file: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(file, { read: true });
  } catch (error) {
    throw toFileError(error, "read the backup", file);
  }
}

async function requireFree(dataDir: string): Promise<void> {
  // A restore that was killed while it wrote the mark left what it wrote.
  const names = (await namesIn(dataDir)).filter((name) =>
    !name.startsWith(`.${UNFINISHED_RESTORE}.`)
  );
  if (names.length === 0 || await isMarked(dataDir)) return;
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? " …" : "");
  throw new BackupError(
    `${dataDir} is not empty (${shown}), and a restore makes a whole data folder: name another ` +
      `one with --data, or stop what serves it and move it away: mv ${dataDir} ${dataDir}.old`,
  );
}

/** What is in a folder but the lock and the mark; nothing of one that is not there. */
async function namesIn(dataDir: string): Promise<string[]> {
  try {
    const names = (await Array.fromAsync(Deno.readDir(dataDir))).map(({ name }) => name);
    return names.filter((name) => name !== LOCK && name !== UNFINISHED_RESTORE).sort();
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return [];
    throw error;
  }
}

async function isMarked(dataDir: string): Promise<boolean> {
  try {
    await Deno.lstat(join(dataDir, UNFINISHED_RESTORE));
    return true;
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function unpack(
  archive: Deno.FsFile,
  file: string,
  dataDir: string,
  known: KnownSchemas,
): Promise<RestoreResult> {
  let about: About | undefined;
  let [files, bytes] = [0, 0];
  const folders = new Set([dataDir]);
  for await (const { path, size, contents } of readBackup(archive, file)) {
    if (!about) {
      about = await readAbout({ path, size, contents }, file, known);
      continue;
    }
    if (!SAFE_PATH.test(path)) throw new BackupError(`${file} is damaged: it names ${path}`);
    const to = join(dataDir, path);
    await makeFolders(dirname(to), folders);
    await writeFile(to, contents);
    faultPoint("restore.entry");
    files++;
    bytes += size;
  }
  for (const folder of folders) await syncFolder(folder);
  if (!about) throw new BackupError(`${file} is empty`);
  return { files, bytes, madeAt: about.made_at };
}

async function readAbout(
  { path, size, contents }: {
    path: string;
    size: number;
    contents: AsyncIterable<Uint8Array>;
  },
  file: string,
  known: KnownSchemas,
): Promise<About> {
  if (path !== ABOUT_ENTRY || size > LONGEST_ABOUT) {
    throw new BackupError(`${file} is an archive, but no backup of machine-cloud`);
  }
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of contents) text += decoder.decode(bytes, { stream: true });
  const about = JSON.parse(text) as About;
  const newer = DATABASES.some((name) => (about.schema[name] ?? 0) > known[name]);
  if (about.format !== 1 || newer) {
    throw new BackupError(
      `${file} was made by a newer program, ${about.program}; restore it with that version or a ` +
        "newer one",
    );
  }
  return about;
}

async function makeFolders(folder: string, made: Set<string>): Promise<void> {
  if (made.has(folder)) return;
  await makeFolders(dirname(folder), made);
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  made.add(folder);
}

async function writeFile(path: string, contents: AsyncIterable<Uint8Array>): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  for await (const bytes of contents) await writeAll(file, bytes);
  await file.sync();
}

function checkDatabase(path: string): void {
  if (!existsSync(path)) return; // A cloud that never served has no logs.
  let db;
  try {
    db = connect(path, addonFor(path), false);
    const verdict = db.pragma("quick_check(1)", { simple: true });
    if (verdict !== "ok") throw new Error(String(verdict));
  } catch (error) {
    throw new BackupError(
      `the backup holds a damaged database, ${path}: ${
        (error as Error).message
      }. Take an older one`,
      { cause: error },
    );
  } finally {
    db?.close();
  }
}
