import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";

/** In the agent's folder: what stood in the system's files before the agent wrote them. */
export const ORIGINALS = "etc/system-originals.json";

interface KeptFile {
  /** Null: there was none. */
  readonly content: string | null;
  readonly mode: number;
  /** Digests of what the agent wrote there last, and of what it wrote before that. */
  readonly written: readonly string[];
}

interface Kept {
  readonly format: 1;
  /** By path from the root of the file system. */
  readonly files: Readonly<Record<string, KeptFile>>;
  /** Timers that were switched off, and that the agent switched on. */
  readonly timers: readonly string[];
}

const NOTHING: Kept = { format: 1, files: {}, timers: [] };
const FILE_MODE = 0o644;

/** The system's files that the agent rewrites, with what they held before. */
export class KeptOriginals {
  readonly #path: string;

  /**
   * @param root of the file system
   * @param dir the agent's folder, as this process sees it
   */
  constructor(readonly root: string, dir: string) {
    this.#path = join(dir, ORIGINALS);
  }

  /**
   * Keeps what stands in a file now, unless that was done before. @throws {FileError}
   *
   * @returns the original; undefined: there was none.
   */
  async keep(path: string): Promise<string | undefined> {
    const kept = await this.#read();
    const known = kept.files[path];
    if (known) return known.content ?? undefined;
    const content = await readIfExists(join(this.root, path)) ?? null;
    const mode = content === null ? FILE_MODE : await modeOf(join(this.root, path));
    await this.#save({ ...kept, files: { ...kept.files, [path]: { content, mode, written: [] } } });
    return content ?? undefined;
  }

  /**
   * Makes `text` the content of a file whose original is kept first. @throws {FileError}
   *
   * @returns whether it was another one.
   */
  async write(path: string, text: string): Promise<boolean> {
    await this.keep(path);
    const full = join(this.root, path);
    if (await readIfExists(full) === text) return false;
    const kept = await this.#read();
    const file = kept.files[path] ?? { content: null, mode: FILE_MODE, written: [] };
    // First, so that a power cut leaves no file that nobody knows to be ours.
    const written = [digest(text), ...file.written].slice(0, 2);
    await this.#save({ ...kept, files: { ...kept.files, [path]: { ...file, written } } });
    await makeFolder(dirname(full));
    await writeFileAtomic(full, text, { mode: file.mode });
    return true;
  }

  /** Notes a timer that is about to be switched on. @throws {FileError} */
  async switchesOn(timer: string): Promise<void> {
    const kept = await this.#read();
    if (kept.timers.includes(timer)) return;
    await this.#save({ ...kept, timers: [...kept.timers, timer] });
  }

  /**
   * Puts everything back, and forgets it. A file that somebody else changed since stays.
   *
   * @param switchOff switches a timer off
   * @returns a line for each thing done.
   * @throws {FileError}
   */
  async putBack(switchOff: (timer: string) => Promise<void>): Promise<string[]> {
    const kept = await this.#read();
    const said: string[] = [];
    for (const [path, file] of Object.entries(kept.files)) {
      const full = join(this.root, path);
      const now = await readIfExists(full) ?? null;
      if (now === file.content) continue;
      if (now === null || !file.written.includes(digest(now))) {
        said.push(`${full} was changed by others and stays as it is`);
      } else if (file.content === null) {
        await removeIfExists(full);
        said.push(`removed ${full}`);
      } else {
        await writeFileAtomic(full, file.content, { mode: file.mode });
        said.push(`${full} is as it was before`);
      }
    }
    for (const timer of kept.timers) {
      await switchOff(timer);
      said.push(`${timer} is switched off, as it was before`);
    }
    await removeIfExists(this.#path);
    return said;
  }

  /** @throws {Error} when the file is there and damaged: overwriting it would lose the originals. */
  async #read(): Promise<Kept> {
    const text = await readIfExists(this.#path);
    if (text === undefined) return NOTHING;
    try {
      const kept = JSON.parse(text) as Kept;
      if (kept.format === 1) return kept;
    } catch {
      // Reported below, as for another format.
    }
    throw new Error(`${this.#path} is damaged or of a newer version; put it right or remove it`);
  }

  async #save(kept: Kept): Promise<void> {
    await makeFolder(dirname(this.#path));
    await writeFileAtomic(this.#path, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function modeOf(path: string): Promise<number> {
  const { mode } = await Deno.stat(path);
  return (mode ?? FILE_MODE) & 0o777;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw toFileError(error, "create the folder", path);
  }
}
