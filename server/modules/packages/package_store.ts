/** What the server's database knows of packages; see the migration in server/config/state/schema.ts. */
import type { BegunDownload } from "../../../shared/transfer/download/download.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { PackageKey, PackageType } from "./package_types.ts";

/** A package that is unpacked, checked and safe from power cuts. */
export interface InstalledPackage extends PackageKey {
  /** Relative to `$MACHINE_HOME`. */
  readonly folder: string;
  /** Of the archive, hexadecimal. */
  readonly sha256: string;
  /** Size of the archive. */
  readonly bytes: number;
  /** Of a local archive: which state of the file it was made from. Empty otherwise. */
  readonly source: string;
}

const COLUMNS = "origin, type, package, version, folder, sha256, bytes, source";
const WHERE_KEY = "origin = @origin AND type = @type AND package = @package AND version = @version";

export class PackageStore {
  constructor(private readonly db: Database) {}

  all(): InstalledPackage[] {
    return this.db.prepare<[], InstalledPackage>(`SELECT ${COLUMNS} FROM packages`).all();
  }

  find(key: PackageKey): InstalledPackage | undefined {
    return this.db.prepare<[PackageKey], InstalledPackage>(
      `SELECT ${COLUMNS} FROM packages WHERE ${WHERE_KEY}`,
    ).get(only(key));
  }

  /** The version of a package that was installed last. */
  newest(
    { origin, type, package: id }: Omit<PackageKey, "version">,
  ): InstalledPackage | undefined {
    return this.db.prepare<[string, PackageType, string], InstalledPackage>(
      `SELECT ${COLUMNS} FROM packages WHERE origin = ? AND type = ? AND package = ?
       ORDER BY id DESC LIMIT 1`,
    ).get(origin, type, id);
  }

  /** The package that has a folder. */
  inFolder(folder: string): InstalledPackage | undefined {
    return this.db.prepare<[string], InstalledPackage>(
      `SELECT ${COLUMNS} FROM packages WHERE folder = ?`,
    ).get(folder);
  }

  /** Writes down a package that is in place; its download is then no longer unfinished. */
  add(installed: InstalledPackage, at: Date): void {
    this.db.transaction(() => {
      this.remove(installed);
      this.db.prepare(`INSERT INTO packages (${COLUMNS}, installed_at) VALUES
        (@origin, @type, @package, @version, @folder, @sha256, @bytes, @source, @at)`)
        .run({ ...installed, at: at.toISOString() });
      this.removeDownload(installed);
    })();
  }

  remove(key: PackageKey): void {
    this.db.prepare(`DELETE FROM packages WHERE ${WHERE_KEY}`).run(only(key));
  }

  download(key: PackageKey): BegunDownload | undefined {
    return this.db.prepare<[PackageKey], BegunDownload>(
      `SELECT validator, total_bytes AS totalBytes FROM package_downloads WHERE ${WHERE_KEY}`,
    ).get(only(key));
  }

  beginDownload(key: PackageKey, begun: BegunDownload, at: Date): void {
    this.db.prepare(`INSERT OR REPLACE INTO package_downloads
        (origin, type, package, version, validator, total_bytes, begun_at) VALUES
        (@origin, @type, @package, @version, @validator, @totalBytes, @at)`)
      .run({ ...only(key), ...begun, at: at.toISOString() });
  }

  removeDownload(key: PackageKey): void {
    this.db.prepare(`DELETE FROM package_downloads WHERE ${WHERE_KEY}`).run(only(key));
  }

  /** All downloads that were begun and are not done. */
  downloads(): PackageKey[] {
    return this.db.prepare<[], PackageKey>(
      "SELECT origin, type, package, version FROM package_downloads",
    ).all();
  }
}

/** Nothing but the key: a statement refuses names that it does not have. */
function only({ origin, type, package: id, version }: PackageKey): PackageKey {
  return { origin, type, package: id, version };
}
