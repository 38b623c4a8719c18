/** Writes the entries of an archive into a folder that nobody else uses yet. */
import { join } from "node:path";
import { faultPoint } from "../../base/faults/fault_point.ts";
import { syncFolder } from "../../base/files/atomic_write.ts";
import { fsErrorCode } from "../../base/files/fs_error.ts";
import { toTransferError } from "../download/transfer_error.ts";
import { type ArchiveLimits, checkLinks, entryPath, fileMode, refused } from "./archive_policy.ts";

/** Files that wait for the disk at the same time: together they cost little more than one. */
const SYNCS_AT_ONCE = 16;

/** What an archive says of one entry, and its bytes. */
export interface ArchiveEntry extends AsyncIterable<Uint8Array> {
  readonly path: string;
  readonly type: string;
  readonly mode?: number | undefined;
  readonly mtime?: Date | undefined;
  readonly linkpath?: string | undefined;
}

/**
 * Links are made at the end, so that nothing is ever written through one. Owners are not taken
 * over; times are, because Python compares them with those in its compiled files.
 */
export class ArchiveWriter {
  readonly #folders = new Set<string>([""]);
  readonly #files = new Set<string>();
  readonly #links = new Map<string, string>();
  readonly #syncs = new Set<Promise<void>>();
  #syncFailed: unknown;
  #entries = 0;

  constructor(private readonly into: string, private readonly limits: ArchiveLimits) {}

  /** @throws {TransferError} `refused` when the entry may not be unpacked. */
  async write(entry: ArchiveEntry): Promise<void> {
    if (++this.#entries > this.limits.entries) {
      throw refused(`it has more than ${this.limits.entries} entries`);
    }
    const parts = entryPath(entry.path, this.limits);
    const path = parts.join("/");
    try {
      await this.#make(entry, path);
    } catch (error) {
      if (["EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY"].includes(fsErrorCode(error) ?? "")) {
        throw refused(`${JSON.stringify(path)} is in it as two different kinds of entry`);
      }
      throw toTransferError(error, "write", join(this.into, path));
    }
    faultPoint("packages.unpack.entry");
  }

  /** Makes the links and brings everything to the disk. */
  async finish(): Promise<void> {
    checkLinks(this.#links, foldName);
    for (const [path, target] of this.#links) {
      await this.#folder(parentOf(path));
      try {
        await Deno.symlink(target, join(this.into, path));
      } catch (error) {
        if (fsErrorCode(error) === "EEXIST") {
          throw refused(`${JSON.stringify(path)} is in it as two different kinds of entry`);
        }
        throw toTransferError(error, "make the link", join(this.into, path));
      }
    }
    faultPoint("packages.unpack.before-sync");
    await this.settle();
    if (this.#syncFailed) throw toTransferError(this.#syncFailed, "write", this.into);
    for (const folder of this.#folders) await syncFolder(join(this.into, folder));
  }

  /** Waits for the files that are on their way to the disk. */
  async settle(): Promise<void> {
    await Promise.all(this.#syncs);
  }

  async #make(entry: ArchiveEntry, path: string): Promise<void> {
    switch (entry.type) {
      case "Directory":
        return await this.#folder(path);
      case "File":
      case "OldFile":
      case "ContiguousFile":
        if (path === "") throw refused("a file in it has no name");
        return await this.#file(entry, path);
      case "Link":
        return await this.#hardLink(path, entry.linkpath ?? "");
      case "SymbolicLink":
        if (path === "") throw refused("a link in it has no name");
        this.#links.set(path, entry.linkpath ?? "");
        return;
      default:
        throw refused(
          `${JSON.stringify(path)} is of the kind ${entry.type}; files, folders and links may ` +
            "be in packages",
        );
    }
  }

  async #file(entry: ArchiveEntry, path: string): Promise<void> {
    await this.#folder(parentOf(path));
    const file = await createAnew(join(this.into, path), fileMode(entry.mode));
    try {
      for await (const bytes of entry) {
        for (let written = 0; written < bytes.length;) {
          written += await file.write(bytes.subarray(written));
        }
      }
      if (entry.mtime) await file.utime(entry.mtime, entry.mtime);
    } catch (error) {
      file.close();
      throw error;
    }
    this.#files.add(path);
    await this.#syncLater(file);
  }

  async #hardLink(path: string, target: string): Promise<void> {
    const source = entryPath(target, this.limits).join("/");
    if (!this.#files.has(source)) {
      throw refused(
        `the link ${JSON.stringify(path)} is to ${JSON.stringify(target)}, which is no file ` +
          "before it in the archive",
      );
    }
    await this.#folder(parentOf(path));
    await Deno.link(join(this.into, source), join(this.into, path));
    this.#files.add(path);
  }

  async #folder(path: string): Promise<void> {
    if (this.#folders.has(path)) return;
    await this.#folder(parentOf(path));
    if (++this.#entries > this.limits.entries) {
      throw refused(`it has more than ${this.limits.entries} entries`);
    }
    await Deno.mkdir(join(this.into, path), { mode: 0o755 });
    this.#folders.add(path);
  }

  async #syncLater(file: Deno.FsFile): Promise<void> {
    if (this.#syncs.size >= SYNCS_AT_ONCE) await Promise.race(this.#syncs);
    const sync = file.sync().catch((error) => void (this.#syncFailed ??= error)).finally(() => {
      file.close();
      this.#syncs.delete(sync);
    });
    this.#syncs.add(sync);
  }
}

/** An archive may hold a file twice; the later one counts, and never writes into a linked one. */
async function createAnew(path: string, mode: number): Promise<Deno.FsFile> {
  const options = { write: true, createNew: true, mode };
  try {
    return await Deno.open(path, options);
  } catch (error) {
    if (fsErrorCode(error) !== "EEXIST") throw error;
  }
  if ((await Deno.lstat(path)).isDirectory) throw refused(`a folder in it is also a file`);
  await Deno.remove(path);
  return await Deno.open(path, options);
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Names that the usual file systems of this host take for the same. */
function foldName(name: string): string {
  return Deno.build.os === "linux" ? name : name.normalize("NFC").toLowerCase();
}
