/** Unpacks a `.tar.gz`, piece by piece. */
import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { Parser } from "tar/parse";
import type { ReadEntry } from "tar/read-entry";
import type { DiskSpace } from "../download/disk_space.ts";
import { toTransferError } from "../download/transfer_error.ts";
import { fsErrorCode } from "../../base/files/fs_error.ts";
import { ARCHIVE_LIMITS, type ArchiveLimits, refused } from "./archive_policy.ts";
import { ArchiveWriter } from "./archive_writer.ts";

/** The free space is looked at each time so much was unpacked. Bytes. */
const SPACE_CHECK_BYTES = 64 * 2 ** 20;
const READ_BYTES = 256 * 1024;

export interface UnpackOptions {
  /** Path of the archive. */
  readonly archive: string;
  /** A folder that is there and empty. */
  readonly into: string;
  readonly space: DiskSpace;
  readonly signal: AbortSignal;
  /** Default {@link ARCHIVE_LIMITS}. */
  readonly limits?: ArchiveLimits | undefined;
}

/** The archive that was unpacked. */
export interface Unpacked {
  /** Hexadecimal, of the archive as it was read. */
  readonly sha256: string;
  /** Size of the archive. */
  readonly bytes: number;
}

/**
 * Afterwards everything in `into` is safe from power cuts but for the name of `into` itself. When
 * it throws, `into` holds a part; remove it.
 *
 * @throws {TransferError} `refused`: no whole archive, or one that may not be unpacked; `no-room`:
 *   the disk. The signal's reason when aborted.
 */
export async function unpack(options: UnpackOptions): Promise<Unpacked> {
  const { archive, into, signal, limits = ARCHIVE_LIMITS } = options;
  const writer = new ArchiveWriter(into, limits);
  const reader = new ArchiveReader(options, writer, limits);
  const hash = createHash("sha256");
  const count = { bytes: 0 };
  try {
    await pipeline(
      createReadStream(archive, { highWaterMark: READ_BYTES }),
      (source: AsyncIterable<Uint8Array>) => counted(source, hash, count),
      createGunzip({ chunkSize: READ_BYTES }),
      (source: AsyncIterable<Uint8Array>) => reader.read(source, () => count.bytes),
      { signal },
    );
    await writer.finish();
    return { sha256: hash.digest("hex"), bytes: count.bytes };
  } catch (error) {
    await writer.settle();
    if (signal.aborted) throw signal.reason;
    const code = fsErrorCode(error) ?? "";
    if (code.startsWith("Z_")) throw refused("it is no whole gzip file");
    if (code.startsWith("TAR_")) throw refused(`it is no whole tar archive (${code})`);
    throw toTransferError(error, "unpack", archive);
  }
}

async function* counted(source: AsyncIterable<Uint8Array>, hash: Hash, count: { bytes: number }) {
  for await (const bytes of source) {
    hash.update(bytes);
    count.bytes += bytes.length;
    yield bytes;
  }
}

/** Turns bytes into entries, one after the other. */
class ArchiveReader {
  #bytes = 0;
  #nextSpaceCheck = SPACE_CHECK_BYTES;
  /** Everything so far is written. */
  #written: Promise<void> = Promise.resolve();
  readonly #failure = Promise.withResolvers<never>();

  constructor(
    private readonly options: UnpackOptions,
    private readonly writer: ArchiveWriter,
    private readonly limits: ArchiveLimits,
  ) {
    this.#failure.promise.catch(() => {}); // whoever waits for it learns of it
  }

  /** @param packedBytes how much of the archive was read for what came. */
  async read(source: AsyncIterable<Uint8Array>, packedBytes: () => number): Promise<void> {
    const parser = new Parser({ strict: true, onReadEntry: (entry) => this.#take(entry) });
    parser.on("error", (error: unknown) => this.#failure.reject(error));
    parser.on("ignoredEntry", () => this.#failure.reject(refused("a header in it is too long")));
    const failure = this.#failure.promise;
    for await (const bytes of source) {
      await this.#count(bytes.length, packedBytes());
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      if (!parser.write(piece)) await Promise.race([failure, once(parser, "drain")]);
    }
    const ended = once(parser, "end");
    parser.end();
    await Promise.race([failure, ended]);
    await Promise.race([failure, this.#written]);
  }

  /** The parser gives the next entry when this one was read to its end. */
  #take(entry: ReadEntry): void {
    this.#written = this.#written.then(async () => {
      await this.writer.write(entry);
      entry.resume(); // a folder, too, has an end
    });
    this.#written.catch((error) => this.#failure.reject(error));
  }

  async #count(bytes: number, packedBytes: number): Promise<void> {
    this.#bytes += bytes;
    const { bytes: mostBytes, ratio, ratioFromBytes } = this.limits;
    if (this.#bytes > mostBytes) throw refused(`unpacked it is larger than ${mostBytes} bytes`);
    if (this.#bytes > ratioFromBytes && this.#bytes > ratio * packedBytes) {
      throw refused(`unpacked it is more than ${ratio} times as large as packed`);
    }
    if (this.#bytes < this.#nextSpaceCheck) return;
    this.#nextSpaceCheck += SPACE_CHECK_BYTES;
    await this.options.space.require(SPACE_CHECK_BYTES, this.options.into, "the unpacked package");
  }
}
