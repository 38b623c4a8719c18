/** A module in an archive on this host. */
import { isAbsolute } from "node:path";
import { describeFsError } from "../../../shared/base/files/fs_error.ts";
import type { Installer } from "./installer.ts";
import type { KeyedLock } from "../../../shared/transfer/download/keyed_lock.ts";
import { PackageError } from "./package_error.ts";
import { checkKey } from "./package_layout.ts";
import type { PackageSource, SourceReport } from "./package_source.ts";
import type { InstalledPackage, PackageStore } from "./package_store.ts";
import type { PackageKey, WantedTarball } from "./package_types.ts";

export interface LocalPackageOptions {
  readonly wanted: WantedTarball;
  readonly store: PackageStore;
  readonly installer: Installer;
  readonly locks: KeyedLock;
}

export class LocalPackage implements PackageSource {
  readonly label: string;
  readonly changes = true;
  readonly #key: PackageKey;
  /** A state of the file that was refused: it is not unpacked again until it changes. */
  #refused: { source: string; error: PackageError } | undefined;

  constructor(private readonly options: LocalPackageOptions) {
    const { name, tarball } = options.wanted;
    this.#key = { origin: "local", type: "module", package: name, version: "0.0.0" };
    this.label = `${name} from ${tarball}`;
  }

  installed(): undefined {}

  previous(): InstalledPackage | undefined {
    const newest = this.options.store.newest(this.#key);
    return newest && this.options.installer.isThere(newest) ? newest : undefined;
  }

  async obtain(report: SourceReport, signal: AbortSignal): Promise<InstalledPackage> {
    const { tarball } = this.options.wanted;
    checkKey(this.#key);
    if (!isAbsolute(tarball)) {
      throw new PackageError("impossible", `the archive ${tarball} needs an absolute path`);
    }
    return await this.options.locks.run(`local ${this.#key.package}`, async () => {
      signal.throwIfAborted();
      const source = await stateOf(tarball);
      const known = this.previous();
      if (known?.source === source) {
        report.version(known.version);
        return known;
      }
      if (this.#refused?.source === source) throw this.#refused.error;
      report.loading();
      return await this.#install(source, report, signal);
    });
  }

  async #install(source: string, report: SourceReport, signal: AbortSignal) {
    const { installer, wanted: { tarball } } = this.options;
    try {
      return await installer.install({
        archive: tarball,
        root: "packages-local/data/module",
        identify: async ({ sha256 }) => {
          if (await stateOf(tarball) !== source) {
            throw new PackageError("unreachable", `${tarball} changed while it was read`);
          }
          const version = `0.0.0-${sha256.slice(0, 12)}`;
          report.version(version);
          return { key: { ...this.#key, version }, source };
        },
        signal,
      });
    } catch (error) {
      if (error instanceof PackageError && error.kind === "refused") {
        this.#refused = { source, error };
      }
      throw error;
    }
  }
}

/** Reports whether a file is still the same without reading it. */
async function stateOf(path: string): Promise<string> {
  try {
    const { size, mtime, ino } = await Deno.stat(path);
    return JSON.stringify([path, size, mtime?.getTime() ?? 0, ino]);
  } catch (error) {
    throw new PackageError("unreachable", describeFsError(error, "read the archive", path), error);
  }
}
