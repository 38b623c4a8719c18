import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Parser } from "tar/parse";
import type { ReadEntry } from "tar/read-entry";
import { fsErrorCode, toFileError } from "../../base/files/fs_error.ts";
import { innerPathProblem } from "../../registry/item_rules.ts";
import {
  ArchiveError,
  LARGEST_TEXT,
  META_FILE,
  type ModuleArchive,
  MOST_ENTRIES,
} from "../../registry/module_archive/archive.ts";

const READ_BYTES = 256 * 1024;
const ENTRY_TYPES = ["File", "OldFile", "ContiguousFile", "Directory", "SymbolicLink", "Link"];

/**
 * Looks through a `.tar.gz` without unpacking it. What the server of a machine would refuse, paths
 * and links that leave the archive, is refused here already.
 *
 * @param wanted paths of files whose texts are read; those above 1 MiB are left out
 * @throws {ArchiveError} or {FileError}
 */
export async function readArchive(
  path: string,
  wanted: readonly string[] = [],
): Promise<ModuleArchive> {
  const { Parser } = await import("tar/parse");
  const entries = new Entries(path, new Set([META_FILE, ...wanted]));
  const parser = new Parser({ strict: true, onReadEntry: (entry) => entries.take(entry) });
  // The pipeline itself reports only that it was aborted.
  const reading: { error?: unknown } = {};
  const read = async (source: AsyncIterable<Uint8Array>) => {
    await feed(parser, source, entries).catch((error) => {
      reading.error = error;
      throw error;
    });
  };
  try {
    const file = createReadStream(path, { highWaterMark: READ_BYTES });
    await pipeline(file, createGunzip({ chunkSize: READ_BYTES }), read);
  } catch (pipelineError) {
    const error = reading.error ?? pipelineError;
    if (error instanceof ArchiveError) throw error;
    const code = fsErrorCode(error) ?? "";
    if (code.startsWith("Z_")) throw unreadable(path, "it is no whole gzip file", error);
    if (code.startsWith("TAR_")) throw unreadable(path, `it holds no whole tar (${code})`, error);
    throw toFileError(error, "read the archive", path);
  }
  return entries.found();
}

async function feed(
  parser: Parser,
  source: AsyncIterable<Uint8Array>,
  entries: Entries,
): Promise<void> {
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined); // whoever waits for it learns of it
  parser.on("error", (error: unknown) => failure.reject(error));
  for await (const bytes of source) {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (!parser.write(piece)) await Promise.race([failure.promise, once(parser, "drain")]);
    entries.requireFine();
  }
  const ended = once(parser, "end");
  parser.end();
  await Promise.race([failure.promise, ended]);
  entries.requireFine();
}

/** Collects what matters of the entries, and the first thing that is wrong. */
class Entries {
  readonly #files = new Set<string>();
  readonly #texts = new Map<string, Uint8Array[]>();
  #count = 0;
  #problem: string | undefined;

  constructor(private readonly archive: string, private readonly wanted: ReadonlySet<string>) {}

  take(entry: ReadEntry): void {
    const path = posix.normalize(entry.path).replace(/^\.\//, "");
    this.#problem ??= this.#problemOf(entry);
    if (entry.type !== "Directory") this.#files.add(path);
    if (this.wanted.has(path) && entry.size <= LARGEST_TEXT) {
      const pieces: Uint8Array[] = [];
      this.#texts.set(path, pieces);
      entry.on("data", (bytes: Uint8Array) => pieces.push(bytes));
    }
    entry.resume();
  }

  requireFine(): void {
    if (this.#problem !== undefined) throw new ArchiveError(`${this.archive}: ${this.#problem}`);
  }

  found(): ModuleArchive {
    if (this.#files.size === 0) throw new ArchiveError(`${this.archive}: the archive is empty`);
    const texts = new Map(
      [...this.#texts].map(([path, pieces]) => [path, Buffer.concat(pieces).toString("utf8")]),
    );
    return { files: this.#files, meta: texts.get(META_FILE), texts };
  }

  #problemOf({ path, type, linkpath = "" }: ReadEntry): string | undefined {
    const shown = JSON.stringify(path);
    if (++this.#count > MOST_ENTRIES) return `it has more than ${MOST_ENTRIES} entries`;
    if (innerPathProblem(path)) {
      return `the path ${shown} leaves the archive; pack from inside the folder, as ` +
        "`tar -czf FILE.tar.gz -C FOLDER .` does";
    }
    if (!ENTRY_TYPES.includes(type)) {
      return `${shown} is of type ${type}; only files, folders and links are unpacked`;
    }
    if (type === "SymbolicLink" && leaves(posix.join(posix.dirname(path), linkpath), linkpath)) {
      return `the link ${shown} to ${JSON.stringify(linkpath)} leads out of the archive, and ` +
        "that is refused where it is unpacked; pack the file itself (tar --dereference)";
    }
    if (type === "Link" && leaves(posix.normalize(linkpath), linkpath)) {
      return `the link ${shown} leads out of the archive`;
    }
    return undefined;
  }
}

function leaves(target: string, linkpath: string): boolean {
  return posix.isAbsolute(linkpath) || target === ".." || target.startsWith("../");
}

function unreadable(path: string, reason: string, cause: unknown): ArchiveError {
  const advice = "make it with `tar -czf FILE.tar.gz -C FOLDER .`";
  return new ArchiveError(`${path} cannot be used: ${reason}; ${advice}`, { cause });
}
