import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import type { ProcessMark, ProcessRunner } from "../../shared/base/process/child_process.ts";

const STRAY_GRACE_MS = 5_000;

/**
 * The folder of one `make run`: held by a lock while it runs, and with a list of the processes it
 * started, so that the next one can end what a killed one left behind.
 */
export class DataFolder {
  private constructor(readonly path: string, readonly lock: Deno.FsFile) {}

  /**
   * Takes the folder, makes it where it is missing, and ends what is left of an earlier run.
   * @throws Error in one line when another run holds it
   */
  static async take(path: string, runner: ProcessRunner): Promise<DataFolder> {
    await mkdir(join(path, "log"), { recursive: true, mode: 0o700 });
    const lock = await Deno.open(join(path, "run.lock"), { create: true, write: true });
    if (!await lock.tryLock(true)) {
      lock.close();
      throw new Error(
        `Another make run uses ${path}. Stop it, or give this one a folder and a port of its own: ` +
          "make run MACHINE_DEV_DIR=.machine2 PORT=9000",
      );
    }
    const folder = new DataFolder(path, lock);
    for (const mark of await folder.#readMarks()) {
      await runner.endStray(mark, { graceMs: STRAY_GRACE_MS });
    }
    return folder;
  }

  get logDir(): string {
    return join(this.path, "log");
  }

  /** Remembers what runs now. */
  async remember(marks: readonly ProcessMark[]): Promise<void> {
    await writeFileAtomic(this.#marksFile, JSON.stringify(marks), { mode: 0o600 });
  }

  /** Lets another run take the folder. */
  release(): void {
    this.lock.close();
  }

  get #marksFile(): string {
    return join(this.path, "run.json");
  }

  async #readMarks(): Promise<ProcessMark[]> {
    try {
      const marks: unknown = JSON.parse(await Deno.readTextFile(this.#marksFile));
      return Array.isArray(marks) ? marks.filter(isMark) : [];
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return [];
      throw error;
    }
  }
}

function isMark(value: unknown): value is ProcessMark {
  return typeof value === "object" && value !== null &&
    "pid" in value && typeof value.pid === "number" &&
    "started" in value && typeof value.started === "string" &&
    "tree" in value && typeof value.tree === "string";
}
