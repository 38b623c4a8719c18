/** The file of a backup: a tar archive whose last entry has the checksums of all others. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { Header } from "tar";
import { writeAll } from "../../../shared/base/files/write_all.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** First entry: what the backup is. */
export const ABOUT_ENTRY = "backup.json";
/** Last entry, in the form of `sha256sum`: without it the archive is cut off. */
const CHECKSUMS_ENTRY = "SHA256SUMS";

const BLOCK = 512;
const PIECE = 1024 * 1024;
/** Checksums of a million files are 110 MB. */
const LONGEST_TEXT = 1024 * 1024 * 1024;

/** The file is no backup, is damaged, or cannot be used here; the message says what to do. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}

/** What a disk writes in some milliseconds: a save that comes meanwhile waits for no more. */
export const SYNC_EVERY_BYTES = 2 * 1024 * 1024;
/** A disk that hangs holds a backup up no longer than it hangs and this. */
const LONGEST_PAUSE_MS = 1_000;

/** Writes a backup, one entry after the other. */
export class BackupWriter {
  readonly #sums: string[] = [];
  #bytes = 0;
  #unsynced = 0;

  constructor(
    private readonly file: Deno.FsFile,
    private readonly clock: Pick<Clock, "monotonicMs" | "sleep">,
  ) {}

  /** Bytes of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Entries so far. */
  get entries(): number {
    return this.#sums.length;
  }

  /** A file of the disk as it is now; what is written to it afterwards is left out. */
  async addFile(path: string, from: string): Promise<void> {
    using source = await Deno.open(from, { read: true });
    const { size, mtime } = await source.stat();
    await this.#entry(path, size, mtime ?? new Date(0), pieces(source, size, from));
  }

  async addText(path: string, text: string, time: Date): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    await this.#entry(path, bytes.length, time, [bytes]);
  }

  /** Writes the checksums and the end of the archive. */
  async finish(time: Date): Promise<void> {
    await this.addText(CHECKSUMS_ENTRY, this.#sums.join(""), time);
    await writeAll(this.file, new Uint8Array(2 * BLOCK));
  }

  async #entry(
    path: string,
    size: number,
    mtime: Date,
    contents: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<void> {
    const header = new Header({ path, size, mtime, mode: 0o600, type: "File" });
    if (header.encode() || !header.block) throw new Error(`cannot name ${path} in an archive`);
    await writeAll(this.file, header.block);
    const hash = createHash("sha256");
    for await (const bytes of contents) {
      hash.update(bytes);
      await writeAll(this.file, bytes);
      await this.#pace(bytes.length);
    }
    await writeAll(this.file, new Uint8Array(padding(size)));
    this.#bytes += size;
    this.#sums.push(checksumLine(hash.digest("hex"), path));
  }

  /**
   * Else a gigabyte would wait for the disk at once, and what a cloud saves meanwhile behind it. Half
   * of the time the disk is for others.
   */
  async #pace(written: number): Promise<void> {
    this.#unsynced += written;
    if (this.#unsynced < SYNC_EVERY_BYTES) return;
    this.#unsynced = 0;
    const startedMs = this.clock.monotonicMs();
    await this.file.syncData();
    const tookMs = this.clock.monotonicMs() - startedMs;
    await this.clock.sleep(Math.min(tookMs, LONGEST_PAUSE_MS));
  }
}

/** One entry of a backup; its contents are there until the next one is requested. */
export interface BackupEntry {
  readonly path: string;
  readonly size: number;
  readonly contents: AsyncIterable<Uint8Array>;
}

/**
 * The entries of a backup but the checksums. What comes is checked against those at the end: only
 * when the iteration ends on its own is everything as it was written.
 *
 * @throws {BackupError}
 */
export async function* readBackup(file: Deno.FsFile, name: string): AsyncGenerator<BackupEntry> {
  const sums: string[] = [];
  const reader = new ArchiveReader(file, name);
  for (;;) {
    const header = await reader.header();
    if (!header) throw cutOff(name);
    const { path, size } = header;
    if (path === CHECKSUMS_ENTRY) {
      compare(await reader.text(size), sums, name);
      return;
    }
    const hash = createHash("sha256");
    const contents = reader.contents(size, (bytes) => hash.update(bytes));
    yield { path, size, contents };
    for await (const _ of contents); // what was not requested counts, too
    await reader.skip(padding(size));
    sums.push(checksumLine(hash.digest("hex"), path));
  }
}

function compare(written: string, found: readonly string[], name: string): void {
  const lines = written.split("\n").slice(0, -1);
  const wrong = found.findIndex((line, index) => line !== `${lines[index]}\n`);
  if (wrong < 0 && lines.length === found.length) return;
  const entry = found[wrong]?.slice(66).trim() ?? "its list of checksums";
  throw new BackupError(
    `${name} is damaged: ${entry} is not what was written. Take another copy of this backup, or ` +
      "an older one",
  );
}

class ArchiveReader {
  readonly #buffer = new Uint8Array(PIECE);

  constructor(private readonly file: Deno.FsFile, private readonly name: string) {}

  async header(): Promise<{ path: string; size: number } | undefined> {
    const block = await this.#exactly(BLOCK);
    if (!block || block.every((byte) => byte === 0)) return undefined;
    const header = decode(block);
    const { path, size } = header ?? {};
    if (header?.type !== "File" || path === undefined || size === undefined || !(size >= 0)) {
      throw new BackupError(
        `${this.name} is no backup of machine-cloud, or is damaged. Check the path; a backup that ` +
          "was compressed or encrypted is to be unpacked first",
      );
    }
    return { path, size };
  }

  async *contents(size: number, seen: (bytes: Uint8Array) => void): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0;) {
      const count = await this.file.read(this.#buffer.subarray(0, Math.min(left, PIECE)));
      if (count === null) throw cutOff(this.name);
      left -= count;
      const bytes = this.#buffer.subarray(0, count);
      seen(bytes);
      yield bytes;
    }
  }

  async text(size: number): Promise<string> {
    if (size > LONGEST_TEXT) throw cutOff(this.name);
    return new TextDecoder().decode(await this.#exactly(size) ?? new Uint8Array());
  }

  async skip(bytes: number): Promise<void> {
    if (bytes > 0 && !await this.#exactly(bytes)) throw cutOff(this.name);
  }

  async #exactly(count: number): Promise<Uint8Array | undefined> {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count;) {
      const read = await this.file.read(bytes.subarray(at));
      if (read === null) return undefined;
      at += read;
    }
    return bytes;
  }
}

function decode(block: Uint8Array): Header | undefined {
  try {
    const header = new Header();
    header.decode(Buffer.from(block), 0);
    return header.cksumValid ? header : undefined;
  } catch {
    return undefined; // A size or a time that is no number: this is no archive.
  }
}

function cutOff(name: string): BackupError {
  return new BackupError(
    `${name} is truncated: it was not copied completely. Take another copy of this backup, or an ` +
      "older one",
  );
}

async function* pieces(
  file: Deno.FsFile,
  size: number,
  name: string,
): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(PIECE);
  for (let left = size; left > 0;) {
    const count = await file.read(buffer.subarray(0, Math.min(left, PIECE)));
    if (count === null) {
      throw new BackupError(`${name} became shorter while it was read; try again`);
    }
    left -= count;
    yield buffer.subarray(0, count);
  }
}

function padding(size: number): number {
  return (BLOCK - size % BLOCK) % BLOCK;
}

function checksumLine(hash: string, path: string): string {
  return `${hash}  ${path}\n`;
}
