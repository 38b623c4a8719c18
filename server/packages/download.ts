/** Fetches an archive into a file, going on where an earlier attempt ended, and checks it. */
import { dirname } from "node:path";
import { fsErrorCode } from "../../shared/files/fs_error.ts";
import { faultPoint } from "../../shared/faults/fault_point.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { type Announced, announcedIn, difference, RunningChecksum } from "./checksums.ts";
import type { DiskSpace } from "./disk_space.ts";
import { PackageError, toPackageError } from "./package_error.ts";
import { type PackageRequests, requireStatus } from "./package_requests.ts";
import type { BegunDownload } from "./package_store.ts";
import { type TransferLimits, Watchdog } from "./watchdog.ts";

/** Where archives are read in pieces of this size. Bytes. */
const READ_BYTES = 256 * 1024;
const CONTENT_TYPES: ReadonlySet<string> = new Set(["application/x-gzip", "application/gzip"]);
/** Answers to HEAD of servers whose links are good for GET alone. */
const NO_HEAD: ReadonlySet<number> = new Set([403, 405, 501]);

export interface DownloadOptions {
  readonly requests: PackageRequests;
  readonly url: string;
  /** What the cloud said of the archive beside its address. */
  readonly announced: Announced;
  /** The file to write; its folder must be there. */
  readonly part: string;
  /** The attempt whose bytes the file holds. */
  readonly begun: BegunDownload | undefined;
  /** Called before the first byte of a new file is written. */
  readonly onBegin: (begun: BegunDownload) => void;
  readonly onProgress: (bytes: number, totalBytes: number) => void;
  readonly space: DiskSpace;
  readonly limits: TransferLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A whole archive whose checksums are those announced. */
export interface Downloaded {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/**
 * @throws {PackageError} `refused`: the file is removed; `unreachable`, `no-room`: it is kept for
 *   the next attempt. The signal's reason when aborted; the file is kept.
 */
export async function download(options: DownloadOptions): Promise<Downloaded> {
  const watchdog = new Watchdog(options.clock, options.limits, options.signal);
  try {
    return await new Transfer(options, watchdog).run();
  } catch (error) {
    if (watchdog.signal.aborted) throw watchdog.signal.reason;
    const problem = toPackageError(error, "write", options.part);
    if (problem.kind === "refused") await removeIfExists(options.part);
    throw problem;
  } finally {
    watchdog.close();
  }
}

/** What an answer's headers say. */
interface Facts {
  readonly totalBytes: number;
  readonly validator: string;
  readonly announced: Announced;
}

class Transfer {
  #checksum = new RunningChecksum();
  #have = 0;

  constructor(
    private readonly options: DownloadOptions,
    private readonly watchdog: Watchdog,
  ) {}

  async run(): Promise<Downloaded> {
    const { requests, url, begun, part } = this.options;
    const head = await requests.send("HEAD", url, {}, this.watchdog.signal);
    this.watchdog.heard();
    await head.body?.cancel();
    let facts: Facts | undefined;
    if (!NO_HEAD.has(head.status)) {
      requireStatus(head, url, [200]);
      facts = factsOf(head, url, lengthOf(head, url));
    }
    const known = facts ?? (begun && { ...begun, announced: {} });
    if (begun && known && isSame(begun, known)) await this.#readPart(part, known.totalBytes);
    const resumed = this.#have > 0;
    if (facts && this.#have === facts.totalBytes) return await this.#finish(facts, resumed);
    return await this.#finish(await this.#get(known), resumed && this.#have > 0);
  }

  /** Takes what an earlier attempt left. */
  async #readPart(part: string, totalBytes: number): Promise<void> {
    let file: Deno.FsFile;
    try {
      file = await Deno.open(part, { read: true });
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      throw error;
    }
    using _ = file;
    if ((await file.stat()).size > totalBytes) return;
    const buffer = new Uint8Array(READ_BYTES);
    for (let count; (count = await file.read(buffer)) !== null;) {
      this.#checksum.update(buffer.subarray(0, count));
      this.#have += count;
      this.watchdog.signal.throwIfAborted();
      this.watchdog.heard();
    }
  }

  async #get(known: Facts | undefined): Promise<Facts> {
    const { requests, url, part, space } = this.options;
    const { signal } = this.watchdog;
    const range = this.#have > 0 && known
      ? { range: `bytes=${this.#have}-`, "if-range": known.validator }
      : undefined;
    const response = await requests.send("GET", url, range ?? {}, signal);
    try {
      if (response.status === 416) {
        throw new PackageError("refused", "the archive is shorter than what is here of it");
      }
      requireStatus(response, url, range ? [200, 206] : [200]);
      if (response.status === 200) this.#startOver();
      const totalBytes = response.status === 206
        ? rangeTotal(response, this.#have)
        : lengthOf(response, url);
      const facts = merged(known, factsOf(response, url, totalBytes));
      // Unpacked it takes at least the same again.
      await space.require(2 * totalBytes - this.#have, dirname(part), "the package");
      if (this.#have === 0) this.options.onBegin({ validator: facts.validator, totalBytes });
      await this.#receive(response, facts.totalBytes);
      return facts;
    } finally {
      await response.body?.cancel().catch(() => {}); // it was broken off before
    }
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
      for await (const bytes of response.body?.values({ preventCancel: true }) ?? []) {
        signal.throwIfAborted();
        this.watchdog.heard();
        if (this.#have + bytes.length > totalBytes) {
          throw new PackageError("refused", `more came than the ${totalBytes} bytes announced`);
        }
        await this.#write(file, bytes);
        this.#checksum.update(bytes);
        this.#have += bytes.length;
        onProgress(this.#have, totalBytes);
        faultPoint("packages.download.writing");
      }
    } catch (error) {
      if (error instanceof PackageError || signal.aborted) throw error;
      throw this.#cut(totalBytes, error);
    }
    if (this.#have < totalBytes) throw this.#cut(totalBytes);
    faultPoint("packages.download.complete");
  }

  /** Tells what the disk refused from what the connection did. */
  async #write(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
    try {
      for (let written = 0; written < bytes.length;) {
        written += await file.write(bytes.subarray(written));
      }
    } catch (error) {
      throw toPackageError(error, "write", this.options.part);
    }
  }

  #cut(totalBytes: number, cause?: unknown): PackageError {
    return new PackageError(
      "unreachable",
      `the connection ended after ${this.#have} of ${totalBytes} bytes; it goes on from there`,
      cause,
    );
  }

  async #finish(facts: Facts, resumed: boolean): Promise<Downloaded> {
    const announced = { ...facts.announced, ...this.options.announced };
    if (Object.keys(announced).length === 0) {
      throw new PackageError(
        "refused",
        "nothing can be checked: the server names no checksum (x-goog-hash: crc32c=…)",
      );
    }
    const found = this.#checksum.finish();
    const differs = difference(announced, found);
    if (differs === undefined) return { bytes: this.#have, sha256: found.sha256 };
    await removeIfExists(this.options.part);
    throw new PackageError(
      // A power cut can spoil what an earlier attempt wrote: that is fetched again soon.
      resumed ? "unreachable" : "refused",
      `the archive is not the one announced: ${differs}; it was removed`,
    );
  }

  #startOver(): void {
    this.#have = 0;
    this.#checksum = new RunningChecksum();
  }
}

function isSame(begun: BegunDownload, now: BegunDownload): boolean {
  return begun.validator !== "" && begun.validator === now.validator &&
    begun.totalBytes === now.totalBytes;
}

/** The answer to GET wins; what only HEAD said stays. */
function merged(head: Facts | undefined, get: Facts): Facts {
  return { ...get, announced: { ...head?.announced, ...get.announced } };
}

function factsOf(response: Response, url: string, totalBytes: number): Facts {
  const { headers } = response;
  const type = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!CONTENT_TYPES.has(type)) {
    throw new PackageError(
      "refused",
      `${place(response, url)} is not a package: its content type is ${JSON.stringify(type)}, ` +
        'needed is "application/x-gzip"',
    );
  }
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding !== "identity") {
    throw new PackageError(
      "refused",
      `${place(response, url)} comes with the content encoding ${JSON.stringify(encoding)}, ` +
        "which changes its bytes; none is needed",
    );
  }
  const tag = headers.get("etag") ?? "";
  // A weak tag does not promise the same bytes.
  const validator = tag.startsWith('"') ? tag : headers.get("last-modified") ?? "";
  return { totalBytes, validator, announced: announcedIn(headers) };
}

function lengthOf(response: Response, url: string): number {
  const length = Number(response.headers.get("content-length") ?? NaN);
  if (Number.isSafeInteger(length) && length > 0) return length;
  throw new PackageError("refused", `${place(response, url)} does not say its length`);
}

function rangeTotal(response: Response, have: number): number {
  const range = response.headers.get("content-range") ?? "";
  const match = /^bytes (\d+)-\d+\/(\d+)$/.exec(range);
  if (match && Number(match[1]) === have) return Number(match[2]);
  throw new PackageError(
    "refused",
    `the server sent the range ${JSON.stringify(range)}, asked was from byte ${have}`,
  );
}

function place(response: Response, url: string): string {
  const { origin, pathname } = new URL(response.url || url);
  return origin + pathname;
}

async function removeIfExists(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (fsErrorCode(error) !== "ENOENT") throw error;
  }
}
