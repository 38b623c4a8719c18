/** Fetches a file into a partial one, resuming where an earlier attempt ended, and checks it. */
import { dirname } from "node:path";
import { faultPoint } from "../../base/faults/fault_point.ts";
import { removeIfExists } from "../../base/files/atomic_write.ts";
import { fsErrorCode } from "../../base/files/fs_error.ts";
import type { Clock } from "../../base/time/clock.ts";
import { type Answer, factsOf, lengthOf, rangeTotal } from "./answer.ts";
import { type Announced, difference, RunningChecksum } from "./checksums.ts";
import type { DiskSpace } from "./disk_space.ts";
import { type HttpRequests, requireStatus } from "./http_requests.ts";
import { pieces } from "./pieces.ts";
import { soundBytes, spanOf, type SystemTimes, systemTimes } from "./sound_bytes.ts";
import { toTransferError, TransferError } from "./transfer_error.ts";
import { type TransferLimits, Watchdog } from "./watchdog.ts";

/** What an earlier attempt left is read in pieces of this size. Bytes. */
const READ_BYTES = 256 * 1024;
/** Answers to HEAD of servers whose links are good for GET alone. */
const NO_HEAD: ReadonlySet<number> = new Set([403, 405, 501]);

/** A download that was begun. */
export interface BegunDownload {
  /** The entity tag, or the time of the last change, that the bytes so far belong to. */
  readonly validator: string;
  readonly totalBytes: number;
}

export interface DownloadOptions {
  readonly requests: HttpRequests;
  readonly url: string;
  /** What it is, as it shall stand in errors: "package", "release". */
  readonly what: string;
  /** What is known of the file's content besides its address. */
  readonly announced: Announced;
  /** Its size where that is known before. Bytes. */
  readonly size?: number | undefined;
  /** Content types of which one is needed. Default: any. */
  readonly contentTypes?: ReadonlySet<string>;
  /** Asks by HEAD first: for servers that name a file's checksum only there. Default false. */
  readonly headFirst?: boolean;
  /** A file of which neither `announced` nor the server names a checksum is refused. */
  readonly needsChecksum: boolean;
  /** The file to write; its folder must be there. */
  readonly part: string;
  /** The attempt whose bytes the file holds. */
  readonly begun: BegunDownload | undefined;
  /** By the clock that stamps files. Default: the system's. */
  readonly times?: () => SystemTimes;
  /** Called before the first byte of a new file is written. */
  readonly onBegin: (begun: BegunDownload) => void;
  readonly onProgress: (bytes: number, totalBytes: number) => void;
  readonly space: DiskSpace;
  /** So much room, in times of the file's size, is needed. Default 1. */
  readonly roomFactor?: number;
  /** Resolves when so many more bytes may come. Default: at once. */
  readonly pace?: (bytes: number, signal: AbortSignal) => Promise<void>;
  readonly limits: TransferLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A whole file whose checksums are those announced. */
export interface Downloaded {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** The entity tag, or the time of the last change; empty when the server names none. */
  readonly validator: string;
}

/**
 * @throws {TransferError} `refused`: the file is removed, unless the server gave an error (its
 *   `status`); `unreachable`, `no-room`: it is kept for the next attempt. The signal's reason when
 *   aborted; the file is kept.
 */
export async function download(options: DownloadOptions): Promise<Downloaded> {
  const watchdog = new Watchdog(options.clock, options.limits, options.signal);
  try {
    return await new Transfer(options, watchdog).run();
  } catch (error) {
    if (watchdog.signal.aborted) throw watchdog.signal.reason;
    const problem = toTransferError(error, "write", options.part);
    const isWrong = problem.kind === "refused" && problem.status === undefined;
    if (isWrong) await removeIfExists(options.part);
    throw problem;
  } finally {
    watchdog.close();
  }
}

class Transfer {
  #checksum: RunningChecksum;
  #have = 0;

  constructor(
    private readonly options: DownloadOptions,
    private readonly watchdog: Watchdog,
  ) {
    this.#checksum = this.#newChecksum();
  }

  async run(): Promise<Downloaded> {
    const { begun, part, headFirst = false } = this.options;
    const facts = headFirst ? await this.#head() : undefined;
    const known = facts ?? (begun && { ...begun, announced: {} });
    if (begun && known && isSame(begun, known)) await this.#readPart(part, known.totalBytes);
    const resumed = this.#have > 0;
    if (known && this.#have === known.totalBytes) {
      if (this.#isCheckable(known)) return await this.#finish(known, resumed);
      this.#startOver();
    }
    return await this.#finish(await this.#get(known), resumed && this.#have > 0);
  }

  /** Undefined where the server has no answer to HEAD. */
  async #head(): Promise<Answer | undefined> {
    const { requests, url } = this.options;
    const head = await requests.send("HEAD", url, {}, this.watchdog.signal);
    this.watchdog.heard();
    await head.body?.cancel();
    if (NO_HEAD.has(head.status)) return undefined;
    requireStatus(head, url, [200]);
    return this.#answer(head, lengthOf(head, url));
  }

  /** Takes what an earlier attempt left. */
  async #readPart(part: string, totalBytes: number): Promise<void> {
    let file: Deno.FsFile;
    try {
      file = await Deno.open(part, { read: true, write: true });
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      throw error;
    }
    using _ = file;
    const info = await file.stat();
    if (info.size > totalBytes) return;
    const { times = systemTimes } = this.options;
    const sound = soundBytes(info, times());
    if (sound < info.size) await file.truncate(sound);
    const buffer = new Uint8Array(READ_BYTES);
    for (let count; (count = await file.read(buffer)) !== null;) {
      this.#checksum.update(buffer.subarray(0, count));
      this.#have += count;
      this.watchdog.signal.throwIfAborted();
      this.watchdog.heard();
    }
  }

  async #get(known: Answer | undefined): Promise<Answer> {
    const { part, space, size, roomFactor = 1 } = this.options;
    const response = await this.#ask(known);
    try {
      const totalBytes = response.status === 206
        ? rangeTotal(response, this.#have) ?? 0
        : lengthOf(response, this.options.url, size);
      const facts = merged(known, this.#answer(response, totalBytes));
      await space.require(roomFactor * totalBytes - this.#have, dirname(part), this.#the);
      if (this.#have === 0) this.options.onBegin({ validator: facts.validator, totalBytes });
      await this.#receive(response, facts.totalBytes);
      return facts;
    } finally {
      await response.body?.cancel().catch(() => {}); // it was broken off before
    }
  }

  /** Requests the rest, and for the whole where the server has another file by now or no ranges. */
  async #ask(known: Answer | undefined): Promise<Response> {
    const { requests, url } = this.options;
    const { signal } = this.watchdog;
    if (this.#have > 0 && known) {
      const range = { range: `bytes=${this.#have}-`, "if-range": known.validator };
      const rest = await requests.send("GET", url, range, signal);
      this.watchdog.heard();
      const isRest = rest.status === 206 && rangeTotal(rest, this.#have) === known.totalBytes;
      if (isRest || (rest.status !== 206 && rest.status !== 416)) {
        await this.#require(rest, [200, 206]);
        if (rest.status === 200) this.#startOver();
        return rest;
      }
      await rest.body?.cancel();
      this.#startOver();
    }
    const whole = await requests.send("GET", url, {}, signal);
    this.watchdog.heard();
    await this.#require(whole, [200]);
    return whole;
  }

  async #require(response: Response, allowed: readonly number[]): Promise<void> {
    try {
      requireStatus(response, this.options.url, allowed);
    } catch (error) {
      await response.body?.cancel();
      throw error;
    }
  }

  #answer(response: Response, totalBytes: number): Answer {
    const { url, what, contentTypes, size } = this.options;
    if (size !== undefined && size !== totalBytes) {
      throw new TransferError(
        "refused",
        `the server has ${totalBytes} bytes, ${this.#the} is ${size} bytes long`,
      );
    }
    return factsOf(response, { url, totalBytes, what, contentTypes });
  }

  async #receive(response: Response, totalBytes: number): Promise<void> {
    const { part, onProgress } = this.options;
    const { signal } = this.watchdog;
    const fresh = this.#have === 0;
    using file = await Deno.open(part, {
      create: true,
      ...(fresh ? { write: true, truncate: true } : { append: true }),
      mode: 0o600,
    });
    onProgress(this.#have, totalBytes);
    try {
      for await (const bytes of pieces(response.body, signal)) {
        if (this.#have + bytes.length > totalBytes) {
          throw new TransferError("refused", `more came than the ${totalBytes} bytes announced`);
        }
        await this.#pace(bytes.length);
        await this.#write(file, bytes);
        this.#checksum.update(bytes);
        const before = this.#have;
        this.#have += bytes.length;
        if (spanOf(this.#have) !== spanOf(before)) await this.#sync(file);
        onProgress(this.#have, totalBytes);
        faultPoint("download.writing");
      }
    } catch (error) {
      if (error instanceof TransferError || signal.aborted) throw error;
      throw this.#cut(totalBytes, error);
    }
    if (this.#have < totalBytes) throw this.#cut(totalBytes);
    faultPoint("download.complete");
  }

  async #pace(bytes: number): Promise<void> {
    const { pace } = this.options;
    if (pace) {
      this.watchdog.pause();
      await pace(bytes, this.watchdog.signal);
    }
    this.watchdog.heard();
  }

  /** Distinguishes what the disk refused from what the connection did. */
  async #write(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
    try {
      for (let written = 0; written < bytes.length;) {
        written += await file.write(bytes.subarray(written));
      }
    } catch (error) {
      throw toTransferError(error, "write", this.options.part);
    }
  }

  /** Nothing further is written before it is done: see {@link soundBytes}. */
  async #sync(file: Deno.FsFile): Promise<void> {
    this.watchdog.pause();
    try {
      await file.sync();
    } catch (error) {
      throw toTransferError(error, "write", this.options.part);
    }
    this.watchdog.heard();
  }

  #cut(totalBytes: number, cause?: unknown): TransferError {
    return new TransferError(
      "unreachable",
      `the connection was closed after ${this.#have} of ${totalBytes} bytes; it resumes from there`,
      cause,
    );
  }

  async #finish(facts: Answer, resumed: boolean): Promise<Downloaded> {
    if (!this.#isCheckable(facts)) {
      throw new TransferError(
        "refused",
        "nothing can be checked: the server names no checksum (x-goog-hash: crc32c=…)",
      );
    }
    const found = this.#checksum.finish();
    const differs = difference({ ...facts.announced, ...this.options.announced }, found);
    if (differs === undefined) {
      return { bytes: this.#have, sha256: found.sha256, validator: facts.validator };
    }
    await removeIfExists(this.options.part);
    throw new TransferError(
      // A power cut can spoil what an earlier attempt wrote: that is fetched again soon.
      resumed ? "unreachable" : "refused",
      `${this.#the} is not the one announced: ${differs}; it was removed`,
    );
  }

  #isCheckable({ announced }: Answer): boolean {
    return !this.options.needsChecksum ||
      Object.keys({ ...announced, ...this.options.announced }).length > 0;
  }

  #startOver(): void {
    this.#have = 0;
    this.#checksum = this.#newChecksum();
  }

  /** Where a SHA-256 is known, or nothing needs to be, it is the only sum. */
  #newChecksum(): RunningChecksum {
    const { needsChecksum, announced } = this.options;
    return new RunningChecksum(needsChecksum && announced.sha256 === undefined);
  }

  get #the(): string {
    return `the ${this.options.what}`;
  }
}

function isSame(begun: BegunDownload, now: BegunDownload): boolean {
  return begun.validator !== "" && begun.validator === now.validator &&
    begun.totalBytes === now.totalBytes;
}

/** The answer to GET wins; what only HEAD said stays. */
function merged(head: Answer | undefined, get: Answer): Answer {
  return { ...get, announced: { ...head?.announced, ...get.announced } };
}
