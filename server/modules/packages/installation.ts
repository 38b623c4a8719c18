/** Brings one package here and keeps trying until it is. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Limiter } from "../../resources/graph/limiter.ts";
import { PackageError, type PackageErrorKind } from "./package_error.ts";
import type { PackageSource, SourceReport } from "./package_source.ts";
import type { InstalledPackage } from "./package_store.ts";
import type { PackageState } from "./package_types.ts";

/** Waits after failures that may pass any moment, and after those that somebody must fix. */
const SOON = { minMs: 2_000, maxMs: 60_000, jitter: false };
const LATE = { minMs: 30_000, maxMs: 15 * 60_000, jitter: false };

export interface InstallationOptions {
  readonly source: PackageSource;
  /** Its limit is how many packages are worked on at the same time. */
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly log: Logger;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
  /** Called before the package counts as ready. Must not throw. */
  readonly onInstalled: (installed: InstalledPackage) => Promise<void>;
  readonly onChange: (what: "state" | "progress") => void;
}

export class Installation {
  state: Exclude<PackageState, "first_run"> = "downloading";
  error = "";
  version: string;
  lastUpdated: Date;
  bytesDownloaded = 0;
  totalBytes = 0;
  /** The package in place; stays while a newer one of a changing source is fetched. */
  installed: InstalledPackage | undefined;
  readonly #stop = new AbortController();
  readonly #soon = new Backoff(SOON);
  readonly #late = new Backoff(LATE);
  #settled = Promise.resolve();
  #loop = Promise.resolve();
  #isTrying = false;

  constructor(private readonly options: InstallationOptions, version: string) {
    this.version = version;
    this.lastUpdated = options.clock.now();
    const installed = this.#known();
    if (installed) this.#take(installed);
    else this.#start();
  }

  #known(): InstalledPackage | undefined {
    try {
      return this.options.source.installed();
    } catch (error) {
      this.options.log.warn(
        `the packages on this machine are not known: ${toError(error).message}`,
      );
    }
  }

  /** Resolves when the package is ready or failed once, also when this is stopped. */
  get settled(): Promise<void> {
    return this.#settled;
  }

  get source(): PackageSource {
    return this.options.source;
  }

  /** Looks whether there is something newer, where that can be. */
  recheck(): void {
    if (this.options.source.changes && !this.#isTrying) this.#start();
  }

  /** Ends the work; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("the package is no longer wanted"));
    await this.#loop;
  }

  #start(): void {
    this.#isTrying = true;
    const settled = Promise.withResolvers<void>();
    this.#settled = settled.promise;
    const before = this.#loop;
    this.#loop = before.then(() => this.#run(settled.resolve)).finally(() => {
      this.#isTrying = false;
      settled.resolve();
    });
  }

  async #run(settle: () => void): Promise<void> {
    const { clock, limiter, source } = this.options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const before = this.bytesDownloaded;
      try {
        const obtain = () => {
          signal.throwIfAborted();
          return source.obtain(this.#report(), signal);
        };
        const installed = await limiter.run(obtain);
        await this.options.onInstalled(installed);
        return this.#take(installed);
      } catch (error) {
        if (signal.aborted) return;
        const problem = toError(error);
        const kind = problem instanceof PackageError ? problem.kind : "unreachable";
        if (this.bytesDownloaded > before) this.#soon.reset();
        const waitMs = this.#fail(problem.message, kind);
        settle();
        if (waitMs === undefined) return;
        await clock.sleep(waitMs, signal).catch(() => {}); // the loop sees that it was stopped
      }
    }
  }

  #take(installed: InstalledPackage): void {
    const isNew = this.installed?.folder !== installed.folder;
    this.installed = installed;
    this.version = installed.version;
    this.bytesDownloaded = this.totalBytes = installed.bytes;
    this.#soon.reset();
    this.#late.reset();
    if (isNew) this.options.log.info(`the package ${this.source.label} is ready`);
    this.#set("ready", "");
  }

  /** @returns milliseconds until the next attempt; undefined for none. */
  #fail(message: string, kind: PackageErrorKind): number | undefined {
    const { log, random, source } = this.options;
    const waitMs = this.#waitMs(kind, random());
    const next = waitMs === undefined ? "" : `; next attempt in ${Math.ceil(waitMs / 1_000)} s`;
    log.warn(`the package ${source.label} is not ready: ${message}${next}`, {
      event: "package_failed",
    });
    this.#set("failed", message);
    return waitMs;
  }

  /** At least half of the wait, so that no failure makes a tight loop. */
  #waitMs(kind: PackageErrorKind, random: number): number | undefined {
    if (kind === "impossible") return undefined;
    const backoff = kind === "unreachable" ? this.#soon : this.#late;
    return backoff.next() * (0.5 + random / 2);
  }

  #report(): SourceReport {
    return {
      version: (version) => {
        this.version = version;
      },
      downloading: (bytes, totalBytes) => {
        this.bytesDownloaded = bytes;
        this.totalBytes = totalBytes;
        if (this.state !== "downloading") this.#set("downloading", "");
        else this.options.onChange("progress");
      },
      loading: () => this.#set("loading", ""),
    };
  }

  #set(state: Installation["state"], error: string): void {
    if (this.state === state && this.error === error && state !== "failed") return;
    this.state = state;
    this.error = error;
    this.lastUpdated = this.options.clock.now();
    this.options.onChange("state");
  }
}
