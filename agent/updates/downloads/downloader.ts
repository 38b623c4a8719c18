/** Brings versions of programs into the cache. */
import { join } from "node:path";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isSecureAddress } from "../../../shared/cloud/credentials/secure_address.ts";
import { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import type { BegunDownload } from "../../../shared/transfer/download/download.ts";
import { HttpRequests } from "../../../shared/transfer/download/http_requests.ts";
import { KeyedLock } from "../../../shared/transfer/download/keyed_lock.ts";
import { TokenBucket } from "../../../shared/transfer/download/token_bucket.ts";
import { toTransferError } from "../../../shared/transfer/download/transfer_error.ts";
import type { TransferLimits } from "../../../shared/transfer/download/watchdog.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { CachedFiles, type Fetched } from "./cached_files.ts";
import { DownloadError } from "./download_error.ts";
import { DownloadStore } from "./download_store.ts";
import type { FilesInUse } from "./files_in_use.ts";
import { copyLocal, localPath, localStateIfThere } from "./local_file.ts";
import { type DownloadProgress, Progress } from "./progress.ts";
import { Refusals } from "./refusals.ts";
import { downloadRemote, remoteState } from "./remote_file.ts";
import {
  isLocal,
  type Obtained,
  partName,
  shownAddress,
  sourceKey,
  targetKey,
  type WantedFile,
} from "./wanted_file.ts";
import { Waits } from "./waits.ts";

/** Slow lines take hours for a release; a server that gives a byte now and then must not. */
const LIMITS: TransferLimits = { stallMs: 60_000, totalMs: 2 * 3_600_000 };
/** So many attempts in a row may bring nothing before the caller is notified. */
const TRIES = 5;
/**
 * An address without a known hash is queried no more often whether it has changed. Milliseconds.
 */
export const RECHECK_MS = 2 * 60_000;
/** Links expire; the caller comes with another one. */
const EXPIRED: ReadonlySet<number> = new Set([401, 403]);

export interface DownloaderOptions {
  /** Existing folder; partial files are in `part` below it. */
  readonly cacheDir: string;
  /** The agent's. */
  readonly db: Database;
  /** Of this host: `linux/amd64`. */
  readonly platform: string;
  /** Headers for an address; empty for origins that must not see the caller. */
  readonly credentialsFor: (url: URL) => Readonly<Record<string, string>>;
  /** All downloads together are no faster; 0 for no limit. Asked again and again. */
  readonly bandwidthBytesPerS: () => number;
  /** Removes what can be done without, once when the disk is full. */
  readonly cleaner: { clean(what: "all"): Promise<void> };
  /** Gets the files that this downloader uses. */
  readonly inUse: FilesInUse;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: the system's free space, above 10 MB. */
  readonly space?: DiskSpace;
  /** Default: 60 s without a byte, 2 h in all. */
  readonly limits?: TransferLimits;
  /** Numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

export class Downloader {
  readonly #options: DownloaderOptions;
  readonly #store: DownloadStore;
  readonly #files: CachedFiles;
  readonly #refusals: Refusals;
  readonly #requests: HttpRequests;
  readonly #bucket: TokenBucket;
  readonly #space: DiskSpace;
  readonly #locks = new KeyedLock();
  readonly #active = new Map<string, Progress>();
  /** By program: the file given out last, which the caller may not have written down yet. */
  readonly #latest = new Map<string, string>();
  readonly #waits: Waits;
  /** Partial files that this process began: no power cut can have spoilt them. */
  readonly #begunHere = new Set<string>();

  constructor(options: DownloaderOptions) {
    const { cacheDir, db, clock, random = Math.random, credentialsFor } = options;
    this.#options = options;
    this.#store = new DownloadStore(db);
    this.#files = new CachedFiles({ cacheDir, store: this.#store, clock });
    this.#refusals = new Refusals(this.#store, clock, random);
    this.#waits = new Waits(clock, random);
    this.#bucket = new TokenBucket(clock, options.bandwidthBytesPerS);
    this.#space = options.space ?? new DiskSpace();
    this.#requests = new HttpRequests({
      what: "the release",
      credentialsFor,
      objectionTo: () => undefined,
      fetch: options.fetch,
    });
  }

  /**
   * Brings the file into the cache: its size, hash and kind are right, it is on disk, its
   * mode is 0755. A file that is here already is given at once. Without a known hash it is queried
   * whether the address has something newer, every {@link RECHECK_MS} at most: call it again to
   * learn that.
   *
   * @param report gets the progress, every two seconds at most.
   * @throws {DownloadError} see there; the signal's reason when aborted.
   */
  async obtain(
    wanted: WantedFile,
    report: (progress: DownloadProgress) => void,
    signal: AbortSignal,
  ): Promise<Obtained> {
    const { clock, log } = this.#options;
    const { program, version } = wanted;
    const key = partName(wanted);
    return await this.#locks.run(key, async () => {
      signal.throwIfAborted();
      const progress = new Progress({ program, version, clock, log, report });
      this.#active.set(key, progress);
      this.#reportUse();
      try {
        const obtained = await this.#here(wanted, signal) ??
          await this.#bring(wanted, progress, signal);
        this.#latest.set(program, obtained.path);
        return obtained;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof DownloadError) throw error;
        throw new DownloadError(false, toError(error).message, this.#waits.postpone(key), error);
      } finally {
        this.#active.delete(key);
        this.#reportUse();
      }
    });
  }

  /** The downloads that are under way. */
  snapshot(): DownloadProgress[] {
    return [...this.#active.values()].map(({ snapshot }) => snapshot);
  }

  /** Lets refused versions be fetched again now; all of a program without a version. */
  forgetRefusals(program: string, version?: string): void {
    this.#store.removeRefusalsOf(program, version);
    this.#waits.forgetAll();
  }

  #reportUse(): void {
    const parts = [...this.#active.keys()].map((part) => join(this.#files.parts, part));
    this.#options.inUse.set("downloads", [...parts, ...this.#latest.values()]);
  }

  /** The file if it is in the cache. */
  async #here(wanted: WantedFile, signal: AbortSignal): Promise<Obtained | undefined> {
    const sha256 = wanted.sha256 || await this.#trusted(wanted, signal);
    const found = sha256 ? await this.#files.find(wanted, sha256) : undefined;
    if (!sha256 || !found) return undefined;
    return { path: found.path, sha256 };
  }

  /** The hash of what an address gave before; undefined when it has something else by now. */
  async #trusted(wanted: WantedFile, signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#options;
    const key = sourceKey(wanted);
    const known = this.#store.source(key);
    if (!known) return undefined;
    const now = clock.now();
    const sinceMs = now.getTime() - known.lookedAt.getTime();
    if (!isLocal(wanted) && sinceMs >= 0 && sinceMs < RECHECK_MS) return known.sha256;
    const state = isLocal(wanted)
      ? await localStateIfThere(wanted.url) // when it is gone, the copy is kept
      : await remoteState(this.#requests, wanted.url, clock, signal);
    if (state !== undefined && state !== known.validator) return undefined;
    if (!isLocal(wanted)) this.#store.saveSource(key, { ...known, lookedAt: now });
    return known.sha256;
  }

  async #bring(wanted: WantedFile, progress: Progress, signal: AbortSignal): Promise<Obtained> {
    const { log, cleaner } = this.#options;
    const part = partName(wanted);
    // A local file that was rewritten is another one.
    const state = isLocal(wanted) ? await localStateIfThere(wanted.url) : undefined;
    const target = targetKey(wanted, state);
    // The caller has another target by now: what it wrote down of the one before is kept by that.
    this.#latest.delete(wanted.program);
    this.#reportUse();
    this.#refusals.check(target);
    let madeRoom = false;
    for (let tries = 1;; tries++) {
      await this.#waits.wait(part, signal);
      progress.begin();
      try {
        const obtained = await this.#attempt(wanted, progress, signal);
        this.#waits.forget(part);
        this.#store.removeRefusal(target);
        return obtained;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const problem = toTransferError(error, "fetch", shownAddress(wanted.url));
        const isExpired = EXPIRED.has(problem.status ?? 0);
        if (problem.kind === "refused" && !isExpired) {
          await this.#discard(wanted);
          throw this.#refusals.add(target, wanted, problem.message, problem);
        }
        if (problem.kind === "no-room" && !madeRoom) {
          madeRoom = true;
          log.warn(`${problem.message}; what is not needed is removed from the cache`);
          await cleaner.clean("all");
          continue;
        }
        if (progress.gained > 0) {
          this.#waits.forget(part);
          tries = 0;
        }
        const retryAt = this.#waits.postpone(part);
        progress.failed(problem.message, retryAt);
        const isLast = tries >= TRIES || problem.kind === "no-room" || isExpired || isLocal(wanted);
        if (isLast) throw new DownloadError(false, problem.message, retryAt, problem);
        const fields = { error: problem.message, next_attempt: retryAt };
        log.warn(`${wanted.program} ${wanted.version} is not here yet`, fields);
      }
    }
  }

  async #attempt(wanted: WantedFile, progress: Progress, signal: AbortSignal): Promise<Obtained> {
    const { log, clock } = this.#options;
    const started = clock.monotonicMs();
    await Deno.mkdir(this.#files.parts, { recursive: true, mode: 0o755 });
    const fetched = await this.#fetch(wanted, progress, signal);
    const { sha256, bytes } = fetched;
    this.#files.checkTrusted(wanted, fetched);
    signal.throwIfAborted();
    const path = await this.#files.place(this.#files.part(wanted), wanted, fetched);
    const seconds = Math.round((clock.monotonicMs() - started) / 1_000);
    log.info(`${wanted.program} ${wanted.version} is here`, { bytes, sha256, seconds });
    return { path, sha256 };
  }

  async #fetch(wanted: WantedFile, progress: Progress, signal: AbortSignal): Promise<Fetched> {
    const { platform, clock, limits = LIMITS } = this.#options;
    const { url, sha256 } = wanted;
    const name = partName(wanted);
    const shared = {
      part: this.#files.part(wanted),
      platform,
      space: this.#space,
      onProgress: (bytes: number, totalBytes: number) => progress.moved(bytes, totalBytes),
      signal,
    };
    if (isLocal(wanted)) return await copyLocal({ ...shared, source: localPath(url), sha256 });
    // Without a known hash nothing would show that a power cut spoilt the bytes.
    const mayResume = sha256 || this.#begunHere.has(name);
    return await downloadRemote({
      ...shared,
      requests: this.#requests,
      wanted,
      begun: mayResume ? this.#store.begun(name) : undefined,
      onBegin: (begun) => this.#begin(wanted, begun),
      pace: (bytes, inner) => this.#bucket.take(bytes, inner),
      limits,
      clock,
    });
  }

  #begin(wanted: WantedFile, begun: BegunDownload): void {
    const { log, clock } = this.#options;
    const { program, version, url, sha256 } = wanted;
    log.info(`downloading ${program} ${version}`, { bytes: begun.totalBytes });
    if (!sha256 && !isSecureAddress(url)) {
      log.warn(`${shownAddress(url)} is plaintext and no sha256 is known: others could change it`);
    }
    this.#store.begin(partName(wanted), wanted, begun, clock.now());
    this.#begunHere.add(partName(wanted));
    faultPoint("downloads.begun");
  }

  /** Nothing of a wrong file stays. */
  async #discard(wanted: WantedFile): Promise<void> {
    this.#store.removeBegun(partName(wanted));
    await Deno.remove(this.#files.part(wanted)).catch(() => {}); // or it was never there
    faultPoint("downloads.discarded");
  }
}
