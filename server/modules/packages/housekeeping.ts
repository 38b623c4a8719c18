/** Removes what interrupted work and old versions leave behind. */
import { join } from "node:path";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { removeStaleTemps, replaceSymlink } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Installer } from "./installer.ts";
import { isLeftover, type PackageLayout } from "./package_layout.ts";
import type { InstalledPackage, PackageStore } from "./package_store.ts";
import { PACKAGE_TYPES } from "./package_types.ts";

/** A part of an archive that nothing was added to for so long is deleted. Milliseconds. */
const PART_KEPT_MS = 72 * 3_600_000;

export interface HousekeepingOptions {
  readonly layout: PackageLayout;
  readonly store: PackageStore;
  readonly installer: Installer;
  readonly clock: Clock;
  readonly log: Logger;
}

/** No step throws: what cannot be removed is logged and left for the next time. */
export class Housekeeping {
  constructor(private readonly options: HousekeepingOptions) {}

  /** Before anything else works with the folders. */
  async repair(): Promise<void> {
    const { layout, installer, store } = this.options;
    for (const root of this.#roots()) {
      await this.#each(layout.absolute(root), async (name, path) => {
        if (isLeftover(name)) await Deno.remove(path, { recursive: true });
      });
    }
    await this.#try(layout.links, () => removeStaleTemps(layout.links));
    await this.#try("the list of packages", () => {
      for (const installed of store.all()) {
        if (!installer.isThere(installed)) store.remove(installed);
      }
    });
    await this.removeOldParts();
  }

  /** Removes unfinished downloads that were not touched for {@link PART_KEPT_MS}, or are done. */
  async removeOldParts(): Promise<void> {
    const { layout, store, clock } = this.options;
    const before = clock.now().getTime() - PART_KEPT_MS;
    await this.#try(layout.parts, async () => {
      const begun = new Map(store.downloads().map((key) => [layout.part(key), key]));
      await this.#each(layout.parts, async (_name, path) => {
        const { mtime } = await Deno.stat(path);
        if (begun.has(path) && (mtime?.getTime() ?? 0) >= before) begun.delete(path);
        else await Deno.remove(path);
      });
      // What is left has no file to continue with.
      for (const key of begun.values()) store.removeDownload(key);
    });
  }

  /** Removes every package but those that `isKept` names, and folders that nobody knows. */
  async removePackages(isKept: (installed: InstalledPackage) => boolean): Promise<void> {
    const { layout, store, installer, log } = this.options;
    for (const installed of store.all()) {
      if (isKept(installed) || installer.isInstalling(installed.folder)) continue;
      // Without its row a folder is never taken for a package again, however much of it is left.
      store.remove(installed);
      faultPoint("packages.clean-up.row-removed");
      await this.#try(layout.absolute(installed.folder), async () => {
        await installer.discard(installed.folder);
        log.info(`the package ${installed.package} ${installed.version} was removed`);
      });
    }
    for (const root of this.#roots()) {
      await this.#each(layout.absolute(root), async (name) => {
        const folder = `${root}/${name}`;
        if (isLeftover(name) || installer.isInstalling(folder) || store.inFolder(folder)) return;
        await installer.discard(folder);
      });
    }
  }

  /** Makes `<home>/packages/<name>` lead to a model's folder. */
  async link(name: string, installed: InstalledPackage): Promise<void> {
    const { layout } = this.options;
    const path = join(layout.links, name);
    const target = installed.folder.replace(/^packages\//, "");
    await this.#try(path, async () => {
      if (await linkTarget(path) !== target) await replaceSymlink(target, path);
    });
  }

  /** Removes the links of models that are no longer wanted. */
  async removeLinks(wanted: ReadonlySet<string>): Promise<void> {
    await this.#each(this.options.layout.links, async (name, path) => {
      if (wanted.has(name) || !(await Deno.lstat(path)).isSymlink) return;
      await Deno.remove(path);
    });
  }

  #roots(): string[] {
    return this.options.layout.roots(PACKAGE_TYPES);
  }

  async #each(folder: string, work: (name: string, path: string) => Promise<void>): Promise<void> {
    let names: string[] = [];
    await this.#try(folder, async () => {
      names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    });
    for (const name of names) {
      const path = join(folder, name);
      await this.#try(path, () => work(name, path));
    }
  }

  async #try(path: string, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      this.options.log.warn(`${path} cannot be brought in order: ${toError(error).message}`);
    }
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await Deno.readLink(path);
  } catch {
    return undefined; // there is no link; if something is in its way, making it fails
  }
}
