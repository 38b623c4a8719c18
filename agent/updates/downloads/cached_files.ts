/** The checked files of the cache. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  toTransferError,
  TransferError,
} from "../../../shared/transfer/download/transfer_error.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { DownloadStore } from "./download_store.ts";
import { identityOf, launcher, localPath } from "./local_file.ts";
import { cacheName, partName, sourceKey, type WantedFile } from "./wanted_file.ts";

const READ_BYTES = 256 * 1024;
/** A file whose size, time and inode stay is read again only after so long. Milliseconds. */
const HASH_EVERY_MS = 30 * 24 * 3_600_000;
const PROGRAM_MODE = 0o755;

export interface CachedFilesOptions {
  readonly cacheDir: string;
  readonly store: DownloadStore;
  readonly clock: Clock;
}

/** What a fetched file turned out to be. */
export interface Fetched {
  /** Hexadecimal, of what the address gave. */
  readonly sha256: string;
  readonly bytes: number;
  /** The state of the source that it was fetched in. */
  readonly validator: string;
}

export class CachedFiles {
  constructor(private readonly options: CachedFilesOptions) {}

  /** Where partial files are. */
  get parts(): string {
    return join(this.options.cacheDir, "part");
  }

  part(wanted: WantedFile): string {
    return join(this.parts, partName(wanted));
  }

  /** The file with this content if it is here and whole. @throws {TransferError} `no-room`. */
  async find(
    wanted: WantedFile,
    sha256: string,
  ): Promise<{ path: string; size: number } | undefined> {
    const { cacheDir, store, clock } = this.options;
    const name = cacheName(wanted, sha256);
    const path = join(cacheDir, name);
    const now = clock.now();
    try {
      const info = await Deno.lstat(path);
      const row = store.file(name);
      const isKnown = row?.sha256 === sha256 && row.identity === identityOf(info) &&
        Math.abs(now.getTime() - row.hashedAt.getTime()) < HASH_EVERY_MS;
      if (isKnown) store.useFile(name, now);
      // The row is missing when the agent was killed after the rename.
      else if (info.isFile && await hasContent(path, wanted, sha256)) {
        // It was brought to the disk before it got this name.
        if (Deno.build.os !== "windows") await Deno.chmod(path, PROGRAM_MODE);
        this.#record(wanted, { name, sha256, info });
      } else return undefined;
      return { path, size: info.size };
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return undefined;
      throw toTransferError(error, "read", path);
    }
  }

  /** Gives a checked partial file its name, so that a power cut leaves it whole or not at all. */
  async place(part: string, wanted: WantedFile, fetched: Fetched): Promise<string> {
    const { cacheDir, store, clock } = this.options;
    const { sha256, validator } = fetched;
    const name = cacheName(wanted, sha256);
    const path = join(cacheDir, name);
    try {
      faultPoint("downloads.checked");
      await makeDurable(part);
      faultPoint("downloads.synced");
      await Deno.rename(part, path);
      faultPoint("downloads.renamed");
      await syncFolder(cacheDir);
      faultPoint("downloads.folder-synced");
      const info = await Deno.lstat(path);
      store.transaction(() => {
        store.removeBegun(partName(wanted));
        this.#record(wanted, { name, sha256, info });
        const source = { validator, sha256, lookedAt: clock.now() };
        if (!wanted.sha256) store.saveSource(sourceKey(wanted), source);
      });
    } catch (error) {
      throw toTransferError(error, "put in place", path);
    }
    faultPoint("downloads.recorded");
    return path;
  }

  /** @throws {TransferError} an address without a known hash gave something else before. */
  checkTrusted(wanted: WantedFile, { sha256, validator }: Fetched): void {
    if (wanted.sha256) return;
    const before = this.options.store.source(sourceKey(wanted));
    if (!before || before.sha256 === sha256) return;
    if (before.validator === "" || before.validator !== validator) return;
    throw new TransferError(
      "refused",
      `its content is another one (sha256 ${sha256}, it was ${before.sha256}), but the server ` +
        "reports that it has not changed; name the sha256, or another address",
    );
  }

  #record(
    { program, version }: WantedFile,
    { name, sha256, info }: { name: string; sha256: string; info: Deno.FileInfo },
  ): void {
    const { store, clock } = this.options;
    const now = clock.now();
    store.addFile({
      file: name,
      program,
      version,
      sha256,
      bytes: info.size,
      identity: identityOf(info),
      addedAt: store.file(name)?.addedAt ?? now,
      usedAt: now,
      hashedAt: now,
    });
  }
}

/** Makes it a program, and its bytes and mode safe from power cuts. */
async function makeDurable(path: string): Promise<void> {
  if (Deno.build.os !== "windows") await Deno.chmod(path, PROGRAM_MODE);
  faultPoint("downloads.executable");
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

/** Whether a file of the cache is what the address gave, or the launcher for it. */
async function hasContent(path: string, { url }: WantedFile, sha256: string): Promise<boolean> {
  if (await hashOf(path) === sha256) return true;
  if (!url.startsWith("file:")) return false;
  // The launcher for a script whose own hash was announced.
  const text = launcher(localPath(url), sha256);
  const isAsLong = (await Deno.stat(path)).size === new TextEncoder().encode(text).length;
  return isAsLong && await Deno.readTextFile(path) === text;
}

/** SHA-256 of a file, hexadecimal. */
export async function hashOf(path: string): Promise<string> {
  using file = await Deno.open(path, { read: true });
  const hash = createHash("sha256");
  const buffer = new Uint8Array(READ_BYTES);
  for (let count; (count = await file.read(buffer)) !== null;) {
    hash.update(buffer.subarray(0, count));
  }
  return hash.digest("hex");
}
