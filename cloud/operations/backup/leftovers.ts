/** What killed backups of a folder left where their files were to be. */
import { join } from "node:path";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { describeFsError, fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import { DATABASES } from "./folder_files.ts";

/** In the data folder; its name keeps it out of backups. */
const NOTE = ".backup-unfinished";

interface Note {
  /** The folder that the files are of: a copy of it has no right to them. */
  readonly folder: string;
  /** Where backups were being written. */
  readonly files: readonly string[];
}

/** Notes where a backup is being written, for the next one of the folder when it is killed. */
export class Leftovers {
  private constructor(
    private readonly path: string,
    private readonly folder: string,
    private files: readonly string[],
  ) {}

  /** @throws what the system reports when the folder cannot be read */
  static async open(dataDir: string): Promise<Leftovers> {
    const { dev, ino } = await Deno.stat(dataDir);
    const folder = `${Deno.hostname()} ${dev} ${ino}`;
    const path = join(dataDir, NOTE);
    const note = readNote(await readIfExists(path));
    return new Leftovers(path, folder, note?.folder === folder ? note.files : []);
  }

  /**
   * Removes what is there. What cannot be removed, as on a disk that is read-only by now, is said,
   * and tried again by the next backup.
   */
  async clear(warn: (text: string) => void): Promise<void> {
    const stays: string[] = [];
    for (const file of this.files) {
      try {
        await removeCopies(file);
      } catch (error) {
        const problem = describeFsError(error, "remove what an earlier backup left:", file);
        warn(`${problem}. The next backup tries again`);
        stays.push(file);
      }
    }
    this.files = stays;
  }

  /** Call it before a backup is written. */
  async add(unfinished: string): Promise<void> {
    const files = [...new Set([...this.files, unfinished])];
    const note: Note = { folder: this.folder, files };
    await writeFileAtomic(this.path, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  }

  /** Call it when nothing is left of that one. */
  async end(): Promise<void> {
    // With others that could not be removed it stays: what is noted and not there does no harm.
    if (this.files.length === 0) await remove(this.path);
  }
}

/** Removes a backup that is not whole, and the copies of databases next to it. */
export async function removeCopies(unfinished: string): Promise<void> {
  const copies = [...DATABASES.map((name) => `${unfinished}.${name}`), `${unfinished}.rows`];
  for (const name of [unfinished, ...copies]) await remove(name);
}

/** Removes a file or folder that may be there. */
export async function remove(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error) => {
    if (fsErrorCode(error) !== "ENOENT") throw error;
  });
}

function readNote(text: string | undefined): Note | undefined {
  try {
    return JSON.parse(text ?? "null") ?? undefined;
  } catch {
    return undefined; // not ours: it names nothing that may be removed
  }
}
