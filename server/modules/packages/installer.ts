/** Puts the content of an archive in its place, whole or not at all. */
import { join } from "node:path";
import type { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import type { ArchiveLimits } from "../../../shared/transfer/archive/archive_policy.ts";
import { PackageError, toPackageError } from "./package_error.ts";
import type { PackageLayout } from "./package_layout.ts";
import type { InstalledPackage, PackageStore } from "./package_store.ts";
import type { PackageKey } from "./package_types.ts";
import type { Unpacked } from "../../../shared/transfer/archive/unpack.ts";

/** Longest time for unpacking and bringing to the disk; slow cards write some MB/s. Milliseconds. */
const UNPACK_MS = 30 * 60_000;

export interface InstallerOptions {
  readonly layout: PackageLayout;
  readonly store: PackageStore;
  readonly space: DiskSpace;
  readonly clock: Clock;
  readonly limits: ArchiveLimits | undefined;
}

export interface InstallRequest {
  readonly archive: string;
  /** Folder, relative to the home, in which the package's folder shall be. */
  readonly root: string;
  /** What the archive turned out to be. @throws {PackageError} it is not what was wanted. */
  readonly identify: (unpacked: Unpacked) => Promise<{ key: PackageKey; source: string }>;
  readonly signal: AbortSignal;
}

export class Installer {
  readonly #installing = new Set<string>();

  constructor(private readonly options: InstallerOptions) {}

  /** True while a folder is put in its place but not written down yet. */
  isInstalling(folder: string): boolean {
    return this.#installing.has(folder);
  }

  /** The package with this key if its folder is there. Forgets one whose folder somebody removed. */
  find(key: PackageKey): InstalledPackage | undefined {
    const { store } = this.options;
    const found = store.find(key);
    if (!found || this.isThere(found)) return found;
    store.remove(found);
  }

  isThere(installed: InstalledPackage): boolean {
    try {
      return Deno.statSync(this.options.layout.absolute(installed.folder)).isDirectory;
    } catch {
      return false; // gone, or nobody can look into it: both mean to install it again
    }
  }

  /** @throws {PackageError}, or the signal's reason when aborted; nothing has changed then. */
  async install(request: InstallRequest): Promise<InstalledPackage> {
    const { layout } = this.options;
    const temporary = layout.temporary(`${request.root}/unpacked`);
    try {
      await this.#makeFolders(request.root, temporary);
      const unpacked = await this.#unpack(request, temporary);
      const { key, source } = await request.identify(unpacked);
      const same = this.find(key);
      const folder = same?.sha256 === unpacked.sha256
        ? same.folder
        : await this.#place(temporary, this.#reserveFolder(key));
      const installed = { ...key, folder, source, ...unpacked };
      this.#writeDown(installed);
      return installed;
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      throw toPackageError(error, "unpack into", layout.absolute(request.root));
    } finally {
      await Deno.remove(temporary, { recursive: true })
        .catch(() => {}); // it has its final name, or the next start removes it
    }
  }

  /** Removes a folder so that no half of it is ever seen under its name. */
  async discard(folder: string): Promise<void> {
    const trash = this.options.layout.trash(folder);
    try {
      await Deno.rename(this.options.layout.absolute(folder), trash);
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      throw error;
    }
    faultPoint("packages.discard.renamed");
    await Deno.remove(trash, { recursive: true });
  }

  async #makeFolders(root: string, temporary: string): Promise<void> {
    const { layout } = this.options;
    await Deno.mkdir(layout.absolute(root), { recursive: true, mode: 0o755 });
    for (let at = root; at.includes("/");) {
      at = at.slice(0, at.lastIndexOf("/"));
      await syncFolder(layout.absolute(at));
    }
    await Deno.mkdir(temporary, { mode: 0o755 });
  }

  async #unpack({ archive, signal }: InstallRequest, into: string): Promise<Unpacked> {
    const { unpack } = await import("../../../shared/transfer/archive/unpack.ts");
    const { space, clock, limits } = this.options;
    return await withDeadline(
      (signal) => unpack({ archive, into, space, signal, limits }),
      { clock, deadlineMs: UNPACK_MS, what: "unpacking the package", signal },
    );
  }

  /** Nobody else gets it from now on. */
  #reserveFolder(key: PackageKey): string {
    const { layout, store } = this.options;
    const usual = layout.folder(key);
    const owner = store.inFolder(usual);
    const isFree = !this.#installing.has(usual) &&
      (!owner || (owner.package === key.package && owner.version === key.version));
    const folder = isFree ? usual : layout.otherFolder(key);
    this.#installing.add(folder);
    return folder;
  }

  async #place(temporary: string, folder: string): Promise<string> {
    const target = this.options.layout.absolute(folder);
    try {
      await this.discard(folder);
      faultPoint("packages.install.before-rename");
      await Deno.rename(temporary, target);
      await syncFolder(join(target, ".."));
      faultPoint("packages.install.after-rename");
      return folder;
    } catch (error) {
      this.#installing.delete(folder);
      throw error;
    }
  }

  #writeDown(installed: InstalledPackage): void {
    try {
      this.options.store.add(installed, this.options.clock.now());
    } catch (error) {
      throw new PackageError("no-room", (error as Error).message, error);
    } finally {
      this.#installing.delete(installed.folder);
    }
    faultPoint("packages.install.after-row");
  }
}
