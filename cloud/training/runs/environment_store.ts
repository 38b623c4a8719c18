import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  removeIfExists,
  syncFolder,
  writeFileAtomic,
} from "../../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { folderUsage } from "./folder_size.ts";
import { namesIn, removeFolder } from "./run_folder.ts";

/** How many Python environments are kept for the next run of the same script. */
export interface EnvironmentLimits {
  readonly most: number;
  /** Of all together. One run's own may be larger. */
  readonly bytes: number;
}

/** Environments with TensorFlow have about 2 GB. */
export const ENVIRONMENT_LIMITS: EnvironmentLimits = { most: 20, bytes: 30 * 2 ** 30 };

/** A whole environment, kept as long as it is held. */
export interface HeldEnvironment {
  readonly path: string;
  release(): Promise<void>;
}

export interface EnvironmentStoreOptions {
  /** Made with the first environment. */
  readonly root: string;
  readonly limits: EnvironmentLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Written last, when all else is on the disk. */
const READY_FILE = "ready.json";

interface Ready {
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly usedMs: number;
}

/**
 * Python environments by key. They hold absolute paths, so one is made where it stays; it counts
 * only with the file that says that it is whole.
 */
export class EnvironmentStore {
  readonly #held = new Map<string, number>();
  readonly #making = new Map<string, Promise<unknown>>();

  constructor(private readonly options: EnvironmentStoreOptions) {}

  /**
   * The environment of a key, made if there is none. Two that ask at once make it once.
   *
   * @param make fills a folder that is there and empty; whatever it throws is thrown.
   */
  async hold(
    key: string,
    make: (path: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<HeldEnvironment> {
    const name = createHash("sha256").update(key).digest("hex").slice(0, 32);
    const path = join(this.options.root, name);
    this.#held.set(name, (this.#held.get(name) ?? 0) + 1);
    try {
      for (let other = this.#making.get(name); other; other = this.#making.get(name)) {
        await other.catch(() => {}); // who made it learns of it
      }
      signal.throwIfAborted();
      const making = this.#makeIfMissing(path, make).finally(() => this.#making.delete(name));
      this.#making.set(name, making);
      await making;
      await this.#touch(path);
    } catch (error) {
      this.#letGo(name);
      throw error;
    }
    return {
      path,
      release: async () => {
        this.#letGo(name);
        await this.#removeOldest();
      },
    };
  }

  /** Removes what a killed process left half made. */
  async recover(): Promise<void> {
    for (const name of await namesIn(this.options.root)) {
      const path = join(this.options.root, name);
      if (!await readReady(path)) await removeFolder(path);
    }
  }

  async #makeIfMissing(path: string, make: (path: string) => Promise<void>): Promise<void> {
    if (!await readReady(path)) await this.#make(path, make);
  }

  async #make(path: string, make: (path: string) => Promise<void>): Promise<void> {
    await removeFolder(path);
    try {
      await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw toFileError(error, "create the folder of a Python environment", path);
    }
    try {
      await make(path);
      await bringToDisk(path);
      const { bytes } = await folderUsage([path]);
      await this.#write(path, bytes);
      await syncFolder(this.options.root);
    } catch (error) {
      await removeFolder(path);
      throw error;
    }
  }

  /** A kill in between leaves it without the file that says that it is whole. */
  async #remove(path: string): Promise<void> {
    await removeIfExists(join(path, READY_FILE));
    await syncFolder(path);
    await removeFolder(path);
  }

  #letGo(name: string): void {
    const left = (this.#held.get(name) ?? 1) - 1;
    if (left > 0) this.#held.set(name, left);
    else this.#held.delete(name);
  }

  async #touch(path: string): Promise<void> {
    await this.#write(path, (await readReady(path))?.bytes ?? 0);
  }

  async #write(path: string, bytes: number): Promise<void> {
    const ready: Ready = { bytes, usedMs: this.options.clock.now().getTime() };
    await writeFileAtomic(join(path, READY_FILE), JSON.stringify(ready));
  }

  /** Keeps to the limits: those that were not used for longest go first. */
  async #removeOldest(): Promise<void> {
    const { root, limits, log } = this.options;
    const found: (Ready & { name: string })[] = [];
    for (const name of await namesIn(root)) {
      const ready = await readReady(join(root, name));
      if (ready) found.push({ name, ...ready });
    }
    found.sort((one, other) => other.usedMs - one.usedMs);
    let bytes = 0;
    for (const [index, environment] of found.entries()) {
      bytes += environment.bytes;
      const { name } = environment;
      const isKept = index < limits.most && (bytes <= limits.bytes || index === 0);
      if (isKept || this.#held.has(name) || this.#making.has(name)) continue;
      // Who requests it meanwhile waits, and makes it again.
      const removing = this.#remove(join(root, name)).catch((error: Error) =>
        log.warn("cannot remove an old Python environment", { error: error.message })
      ).finally(() => this.#making.delete(name));
      this.#making.set(name, removing);
      await removing;
    }
  }
}

async function readReady(path: string): Promise<Ready | undefined> {
  try {
    const { bytes, usedMs } = JSON.parse(await readIfExists(join(path, READY_FILE)) ?? "{}");
    if (typeof bytes === "number" && typeof usedMs === "number") return { bytes, usedMs };
  } catch {
    // Not whole: it is made again.
  }
}

/** So that a power cut does not leave empty files in what is said to be whole. */
async function bringToDisk(path: string): Promise<void> {
  if (Deno.build.os !== "linux") return;
  try {
    // All that waits for the file system: 10,000 files one by one take minutes.
    await new Deno.Command("sync", { args: ["-f", path], stdout: "null", stderr: "null" }).output();
  } catch {
    // Without the program the kernel does it within half a minute.
  }
}
