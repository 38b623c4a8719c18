import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** How far a download is. */
export interface DownloadProgress {
  readonly program: string;
  readonly version: string;
  readonly bytesDownloaded: number;
  /** 0 while it is not known. */
  readonly totalBytes: number;
  /** Over the last seconds. */
  readonly bytesPerS: number;
  /** Undefined while it cannot be determined. */
  readonly secondsLeft: number | undefined;
  /** Why the last attempt failed; empty while one is under way. */
  readonly error: string;
  /** When the next attempt begins; undefined while one is under way. */
  readonly nextAttemptAt: Date | undefined;
}

/** Progress is reported no more often. Milliseconds. */
const REPORT_MS = 2_000;
/** A line in the log after so long, then after twice as long, up to a minute. Milliseconds. */
const FIRST_LINE_MS = 5_000;
const MOST_LINE_MS = 60_000;
/** How much a new measurement of the rate counts. */
const NEW_SHARE = 0.3;

export interface ProgressOptions {
  readonly program: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly report: (progress: DownloadProgress) => void;
}

/** Measures a download and reports it, now and then. */
export class Progress {
  readonly #options: ProgressOptions;
  #now: DownloadProgress;
  /** Where the measurement under way began. */
  #mark: { readonly ms: number; readonly bytes: number } | undefined;
  /** What was here when the attempt began to bring something. */
  #startBytes = 0;
  #lineMs = FIRST_LINE_MS;
  #nextLineMs = 0;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#now = {
      program: options.program,
      version: options.version,
      bytesDownloaded: 0,
      totalBytes: 0,
      bytesPerS: 0,
      secondsLeft: undefined,
      error: "",
      nextAttemptAt: undefined,
    };
  }

  get snapshot(): DownloadProgress {
    return this.#now;
  }

  /** Bytes that the attempt has brought. */
  get gained(): number {
    return this.#mark ? this.#now.bytesDownloaded - this.#startBytes : 0;
  }

  /** An attempt begins. */
  begin(): void {
    this.#mark = undefined;
    this.#change({ error: "", nextAttemptAt: undefined });
  }

  moved(bytesDownloaded: number, totalBytes: number): void {
    const ms = this.#options.clock.monotonicMs();
    const mark = this.#mark;
    if (!mark) {
      this.#mark = { ms, bytes: bytesDownloaded };
      this.#startBytes = bytesDownloaded;
      this.#nextLineMs = ms + this.#lineMs;
      this.#change({ bytesDownloaded, totalBytes });
      return;
    }
    this.#now = { ...this.#now, bytesDownloaded, totalBytes };
    const spanMs = ms - mark.ms;
    if (spanMs < REPORT_MS && bytesDownloaded < totalBytes) return;
    const rate = spanMs > 0 ? (bytesDownloaded - mark.bytes) / spanMs * 1_000 : 0;
    const { bytesPerS: before } = this.#now;
    const bytesPerS = before > 0 ? before + NEW_SHARE * (rate - before) : rate;
    const left = totalBytes - bytesDownloaded;
    const secondsLeft = bytesPerS > 0 ? Math.ceil(left / bytesPerS) : undefined;
    this.#mark = { ms, bytes: bytesDownloaded };
    this.#change({ bytesPerS, secondsLeft });
    if (ms >= this.#nextLineMs && left > 0) this.#line(ms);
  }

  failed(error: string, nextAttemptAt: Date | undefined): void {
    this.#change({ error, nextAttemptAt, bytesPerS: 0, secondsLeft: undefined });
  }

  #change(changes: Partial<DownloadProgress>): void {
    this.#now = { ...this.#now, ...changes };
    this.#options.report(this.#now);
  }

  #line(ms: number): void {
    const { program, version, bytesDownloaded, totalBytes, bytesPerS, secondsLeft } = this.#now;
    this.#options.log.info(`downloading ${program} ${version}`, {
      bytes: bytesDownloaded,
      of: totalBytes,
      kilobytes_per_second: Math.round(bytesPerS / 1_000),
      ...(secondsLeft !== undefined && { seconds_left: secondsLeft }),
    });
    this.#lineMs = Math.min(2 * this.#lineMs, MOST_LINE_MS);
    this.#nextLineMs = ms + this.#lineMs;
  }
}
