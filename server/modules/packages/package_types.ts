/** Packages: archives with a module, a model or other files, unpacked below `$MACHINE_HOME`. */

/** What a package holds, as configurations write it. */
export const PACKAGE_TYPES = ["ml_model", "module", "slam_map", "archive"] as const;
export type PackageType = typeof PACKAGE_TYPES[number];

/** A package that the cloud keeps. */
export interface WantedCloudPackage {
  /** Its name on the machine, used in placeholders. Unique among those of its type. */
  readonly name: string;
  /** `<organisation>/<name>` in the cloud. */
  readonly package: string;
  /** `1.2.3`, or "latest" for what the cloud has newest whenever it is queried. */
  readonly version: string;
  readonly type: PackageType;
  /** Why the cloud cannot give it, as the configuration specifies; left out: it can. */
  readonly problem?: string;
}

/** A module in an archive on this host. */
export interface WantedTarball {
  readonly name: string;
  /** Absolute path of a `.tgz` or `.tar.gz`. */
  readonly tarball: string;
  readonly type: "module";
}

export type WantedPackage = WantedCloudPackage | WantedTarball;

/** `loading` is checking and unpacking; `first_run` is reported by whoever runs the module. */
export type PackageState = "downloading" | "loading" | "first_run" | "ready" | "failed";

/** A package as the machine's status shows it. */
export interface PackageSnapshot {
  readonly name: string;
  readonly type: PackageType;
  /** The version in use or on its way; of a local archive one made from its content. */
  readonly version: string;
  readonly state: PackageState;
  /** Why it failed; empty otherwise. */
  readonly error: string;
  readonly lastUpdated: Date;
  readonly bytesDownloaded: number;
  /** 0 while it is not known. */
  readonly totalBytes: number;
}

/**
 * Where a package lies, or why it does not yet. `previous` is the folder of the version that was
 * used before and still is there.
 */
export type PackageFolder =
  | { readonly path: string }
  | { readonly pending: string; readonly previous?: string }
  | { readonly problem: string; readonly previous?: string };

/** Names one version of a package on this machine. */
export interface PackageKey {
  readonly origin: "cloud" | "local";
  readonly type: PackageType;
  /** `<organisation>/<name>`; of a local archive its name. */
  readonly package: string;
  readonly version: string;
}
