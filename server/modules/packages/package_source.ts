/** Where a package comes from: the cloud or an archive on this host. */
import type { InstalledPackage } from "./package_store.ts";

/** What a source reports while it works. */
export interface SourceReport {
  /** The version that was found for "latest", or made from an archive's content. */
  version(version: string): void;
  downloading(bytes: number, totalBytes: number): void;
  loading(): void;
}

export interface PackageSource {
  /** For messages: "acme/reader 1.2.3". */
  readonly label: string;
  /** What is wanted may be another one the next time. */
  readonly changes: boolean;
  /** The package when it is in place and cannot have changed. Quick. */
  installed(): InstalledPackage | undefined;
  /** Another version of the same package that is in place. */
  previous(): InstalledPackage | undefined;
  /**
   * Brings the package here.
   *
   * @throws {PackageError}, or the signal's reason when aborted.
   */
  obtain(report: SourceReport, signal: AbortSignal): Promise<InstalledPackage>;
}
