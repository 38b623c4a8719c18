/** Removes versions and partial downloads that nobody needs any more. */
import { basename, join } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { describeFsError, fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { DownloadStore } from "../downloads/download_store.ts";
import { programOf } from "../downloads/wanted_file.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";

const DAY_MS = 24 * 3_600_000;
/** Versions that were not requested in so long are removed. */
const FILE_KEPT_MS = 30 * DAY_MS;
/** So many versions of a program are kept in addition to those in use. */
const FILES_KEPT = 3;
/** A partial file that nothing was added to for so long is deleted. */
const PART_KEPT_MS = 3 * DAY_MS;
/** Memories of addresses and refusals that nobody requested. */
const MEMORY_KEPT_MS = 180 * DAY_MS;
/** The start has enough to do. */
const FIRST_MS = 15 * 60_000;

export interface CacheCleanerOptions {
  readonly cacheDir: string;
  /** The agent's. */
  readonly db: Database;
  /**
   * Paths of everything that must stay: current, previous, target and running versions of all
   * programs, and what is being downloaded. When it throws, nothing is removed.
   */
  readonly keep: () => Iterable<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A file that may go. */
interface Unneeded {
  readonly name: string;
  readonly program: string;
  readonly usedMs: number;
}

export class CacheCleaner {
  readonly #store: DownloadStore;
  readonly #asked = new Watched(undefined);
  #cleaning: Promise<void> = Promise.resolve();

  constructor(private readonly options: CacheCleanerOptions) {
    this.#store = new DownloadStore(options.db);
  }

  /** Cleans once a day, and when it was asked to. */
  async run(signal: AbortSignal): Promise<void> {
    const waits = { firstMs: FIRST_MS, intervalMs: DAY_MS, changes: [this.#asked] };
    await pollLoop(() => this.clean(), { clock: this.options.clock, ...waits }, signal);
  }

  /** Has {@link run} clean now, in the background: an update has ended and left files behind. */
  cleanSoon(): void {
    this.#asked.value = undefined;
  }

  /**
   * Never throws; what cannot be removed is logged and left for the next time.
   *
   * @param what "all": whatever is not in use, for a full disk. Default: what is old, or too much.
   */
  clean(what: "usual" | "all" = "usual"): Promise<void> {
    return this.#cleaning = this.#cleaning.then(() => this.#clean(what)).catch((error) => {
      this.options.log.warn("the cache cannot be cleaned", { error });
    });
  }

  async #clean(what: "usual" | "all"): Promise<void> {
    const { cacheDir, clock, keep } = this.options;
    const kept = new Set(Array.from(keep(), (path) => basename(path)));
    const nowMs = clock.now().getTime();
    for (const { name } of this.#toGo(await this.#unneeded(kept), what, nowMs)) {
      // A file without its row is hashed before it is used again, however much of it is left.
      this.#store.removeFile(name);
      faultPoint("cache.row-removed");
      await this.#remove(join(cacheDir, name));
    }
    for (const { file } of this.#store.files()) {
      if (await mtimeMs(join(cacheDir, file)) === undefined) this.#store.removeFile(file);
    }
    await this.#cleanParts(kept, what, nowMs);
    this.#store.removeOlderThan(new Date(nowMs - MEMORY_KEPT_MS));
  }

  /** Versions that are not in use, the one used last first. */
  async #unneeded(kept: ReadonlySet<string>): Promise<Unneeded[]> {
    const { cacheDir } = this.options;
    const found: Unneeded[] = [];
    for (const name of await namesIn(cacheDir)) {
      const program = programOf(name);
      if (program === undefined || kept.has(name)) continue;
      const usedMs = this.#store.file(name)?.usedAt.getTime() ??
        await mtimeMs(join(cacheDir, name)) ?? 0;
      found.push({ name, program, usedMs });
    }
    return found.sort((a, b) => b.usedMs - a.usedMs);
  }

  #toGo(unneeded: readonly Unneeded[], what: "usual" | "all", nowMs: number): Unneeded[] {
    if (what === "all") return [...unneeded];
    const counts = new Map<string, number>();
    return unneeded.filter(({ program, usedMs }) => {
      const count = (counts.get(program) ?? 0) + 1;
      counts.set(program, count);
      return count > FILES_KEPT || nowMs - usedMs > FILE_KEPT_MS;
    });
  }

  async #cleanParts(
    kept: ReadonlySet<string>,
    what: "usual" | "all",
    nowMs: number,
  ): Promise<void> {
    const folder = join(this.options.cacheDir, "part");
    const begun = new Set(this.#store.parts());
    for (const name of await namesIn(folder)) {
      const path = join(folder, name);
      const changedMs = await mtimeMs(path) ?? 0;
      const isOld = what === "all" || nowMs - changedMs > PART_KEPT_MS;
      if (isOld && !kept.has(name)) await this.#remove(path);
      else begun.delete(name);
    }
    // What is left has no file to continue with.
    for (const name of begun) if (!kept.has(name)) this.#store.removeBegun(name);
  }

  async #remove(path: string): Promise<void> {
    const { log } = this.options;
    try {
      await Deno.remove(path);
      log.info(`${basename(path)} was removed from the cache`);
    } catch (error) {
      if (fsErrorCode(error) !== "ENOENT") log.warn(describeFsError(error, "remove", path));
    }
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** Undefined when there is no such file. */
async function mtimeMs(path: string): Promise<number | undefined> {
  try {
    return (await Deno.lstat(path)).mtime?.getTime() ?? 0;
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
