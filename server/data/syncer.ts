/** Brings files to the cloud and removes them here when it has them. */
import { basename, dirname, join, relative } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import { faultPoint } from "../../shared/base/faults/fault_point.ts";
import { removeIfExists, writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { Backoff } from "../../shared/base/time/backoff.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { reasonOf } from "../resources/graph/errors.ts";
import { FAILED_FOLDER, fileAt, type FoundFile } from "./capture_folder.ts";
import type { DataCloud } from "./data_cloud.ts";
import { upload, WrongFileError } from "./upload.ts";
import type { UploadRecords } from "./upload_records.ts";
import { waitingFiles, type WaitingPlaces } from "./waiting_files.ts";

/** The first wait after a failure, and the longest. Milliseconds. */
const RETRY_MS = { first: 200, longest: 3_600_000 };
/** How long all wait when the cloud takes nothing of this machine. Milliseconds. */
const AWAY_MS = 60_000;
/** Answers that every other file would get as well. */
const AWAY: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.Unimplemented,
]);

export interface SyncerOptions {
  readonly cloud: DataCloud;
  readonly records: UploadRecords;
  readonly clock: Clock;
  readonly log: Logger;
  readonly places: () => WaitingPlaces;
  /** Of files that were not captured. */
  readonly tags: readonly string[];
  /** How many files are on their way at the same time. */
  readonly parallel: number;
}

interface Retry {
  readonly backoff: Backoff;
  dueMs: number;
}

/** What a pass did. */
export interface SyncOutcome {
  readonly uploaded: number;
  readonly failed: number;
}

export class Syncer {
  readonly #retries = new Map<string, Retry>();
  #awayUntilMs = -Infinity;
  /** Why the cloud could not be had; empty while it can. */
  #awayError = "";
  /** Why a file waits, as it was last reported; empty since one was uploaded. */
  #told = "";

  constructor(private readonly options: SyncerOptions) {}

  /** False while nothing is tried because the cloud could not be reached a moment ago. */
  get isReady(): boolean {
    return this.options.clock.monotonicMs() >= this.#awayUntilMs;
  }

  get error(): string {
    return this.#awayError;
  }

  /** Forgets waits, for when somebody asks to try now. */
  hurry(): void {
    this.#awayUntilMs = -Infinity;
    for (const retry of this.#retries.values()) retry.dueMs = -Infinity;
  }

  /** Tries every file that waits and is due once, oldest first. Call it once at a time. */
  async pass(signal: AbortSignal): Promise<SyncOutcome> {
    const { clock, places, parallel } = this.options;
    const files = await waitingFiles(places(), clock.now());
    this.#forget(files);
    const nowMs = clock.monotonicMs();
    const queue = files.filter(({ path }) => (this.#retries.get(path)?.dueMs ?? 0) <= nowMs);
    let uploaded = 0;
    let failed = 0;
    const work = async () => {
      for (let file = queue.shift(); file; file = queue.shift()) {
        if (signal.aborted || !this.isReady) return;
        if (await this.#bring(file, signal)) uploaded++;
        else failed++;
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    return { uploaded, failed };
  }

  /** Rows and waits of files that are no more. */
  #forget(files: readonly FoundFile[]): void {
    const { records } = this.options;
    const there = new Set(files.map(({ path }) => path));
    const gone = records.paths().filter((path) => !there.has(path));
    if (gone.length > 0) records.forget(gone);
    for (const path of this.#retries.keys()) if (!there.has(path)) this.#retries.delete(path);
  }

  async #bring(file: FoundFile, signal: AbortSignal): Promise<boolean> {
    const { cloud, records, clock, log, tags } = this.options;
    try {
      if (!records.isUploaded(file)) {
        faultPoint("data.sync.before-upload");
        await upload(file, cloud, tags, signal);
        faultPoint("data.sync.uploaded");
        // Somebody may have gone on writing it: then it is another file, for the next time.
        if (!isSame(file, await fileAt(file.path))) return true;
        records.uploaded(file, clock.now());
        faultPoint("data.sync.recorded");
      }
      await removeIfExists(file.path);
      faultPoint("data.sync.removed");
      this.#retries.delete(file.path);
      this.#awayError = "";
      this.#told = "";
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      try {
        await this.#failed(file, error);
      } catch (second) {
        log.warn(`a file that could not be uploaded stays: ${toError(second).message}`);
      }
      return false;
    }
  }

  async #failed(file: FoundFile, thrown: unknown): Promise<void> {
    const { records, clock, log } = this.options;
    const { path } = file;
    const reason = reasonOf(thrown);
    const code = thrown instanceof ConnectError ? thrown.code : undefined;
    if (thrown instanceof WrongFileError || code === Code.InvalidArgument) {
      const kept = await this.#giveUp(path, reason);
      records.refused();
      log.error(`a file is not uploaded: ${reason}`, { event: "file_not_uploaded", file: kept });
      return;
    }
    if (code !== undefined && AWAY.has(code)) {
      this.#awayUntilMs = clock.monotonicMs() + AWAY_MS;
      if (this.#awayError === "") {
        log.warn(`captured data waits: the cloud does not take it: ${reason}`, {
          event: "data_upload_offline",
        });
      }
      this.#awayError = reason;
      return;
    }
    let retry = this.#retries.get(path);
    if (!retry) {
      const backoff = new Backoff({ minMs: RETRY_MS.first, maxMs: RETRY_MS.longest });
      this.#retries.set(path, retry = { backoff, dueMs: 0 });
      // A full quota holds up thousands of files for the same reason.
      const level = reason === this.#told ? "debug" : "warn";
      this.#told = reason;
      log[level](`the upload of a file failed and is tried again: ${reason}`, { file: path });
    }
    retry.dueMs = clock.monotonicMs() + retry.backoff.next();
    records.failed(file, reason, clock.now());
  }

  /** Moves a file where nobody uploads it, with the reason next to it. */
  async #giveUp(path: string, reason: string): Promise<string> {
    const { folders } = this.options.places();
    const base = folders.find((folder) => !relative(folder, path).startsWith("..")) ??
      dirname(path);
    const target = join(base, FAILED_FOLDER, relative(base, path));
    await Deno.mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await writeFileAtomic(`${target}.reason.txt`, `${basename(path)}: ${reason}\n`);
    await Deno.rename(path, target);
    return target;
  }
}

function isSame(before: FoundFile, now: FoundFile | undefined): boolean {
  return now?.bytes === before.bytes && now.modifiedMs === before.modifiedMs;
}
