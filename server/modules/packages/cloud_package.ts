/** A package that the cloud keeps. */
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import {
  type Package,
  type PackageService,
  PackageType as ProtoType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import type { DownloadOptions } from "../../../shared/transfer/download/download.ts";
import type { HttpRequests } from "../../../shared/transfer/download/http_requests.ts";
import { TransferError } from "../../../shared/transfer/download/transfer_error.ts";
import type { TransferLimits } from "../../../shared/transfer/download/watchdog.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Installer } from "./installer.ts";
import type { KeyedLock } from "../../../shared/transfer/download/keyed_lock.ts";
import { PackageError, toPackageError } from "./package_error.ts";
import { checkKey, isLinkName, linkNameProblem, type PackageLayout } from "./package_layout.ts";
import type { PackageSource, SourceReport } from "./package_source.ts";
import type { InstalledPackage, PackageStore } from "./package_store.ts";
import type { PackageKey, PackageType, WantedCloudPackage } from "./package_types.ts";

/** Limit of the question where a package lies. Milliseconds. */
const ASK_TIMEOUT_MS = 30_000;
/** Of archives; the first is the one that servers should name. */
const ARCHIVE_TYPES: ReadonlySet<string> = new Set(["application/x-gzip", "application/gzip"]);
const LATEST: ReadonlySet<string> = new Set(["", "latest", "latest-with-prerelease"]);
/** Answers that may be another one in a moment. */
const PASSING: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Aborted,
  Code.Canceled,
  Code.Internal,
  Code.Unknown,
]);
const PROTO_TYPES: Readonly<Record<PackageType, ProtoType>> = {
  ml_model: ProtoType.ML_MODEL,
  module: ProtoType.MODULE,
  slam_map: ProtoType.SLAM_MAP,
  archive: ProtoType.ARCHIVE,
};

/** The cloud as the keeper of packages. */
export interface PackageCloud {
  readonly client: Pick<Client<typeof PackageService>, "getPackage">;
  readonly requests: HttpRequests;
  /** `linux/amd64`: which build of a module is requested. */
  readonly platform: string;
}

export interface CloudPackageOptions {
  readonly wanted: WantedCloudPackage;
  /** Undefined on a machine without a cloud. */
  readonly cloud: PackageCloud | undefined;
  readonly layout: PackageLayout;
  readonly store: PackageStore;
  readonly installer: Installer;
  readonly locks: KeyedLock;
  readonly space: DiskSpace;
  readonly limits: TransferLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

export class CloudPackage implements PackageSource {
  readonly label: string;
  readonly changes: boolean;
  readonly #key: PackageKey;

  constructor(private readonly options: CloudPackageOptions) {
    const { package: id, version, type } = options.wanted;
    this.changes = LATEST.has(version);
    this.#key = { origin: "cloud", type, package: id, version: version || "latest" };
    this.label = `${id} ${this.#key.version}`;
  }

  installed(): InstalledPackage | undefined {
    if (this.changes || !this.#hasLinkName()) return undefined;
    return this.options.installer.find(this.#key);
  }

  previous(): InstalledPackage | undefined {
    const newest = this.options.store.newest(this.#key);
    return newest && this.options.installer.isThere(newest) ? newest : undefined;
  }

  async obtain(report: SourceReport, signal: AbortSignal): Promise<InstalledPackage> {
    checkKey(this.#key);
    if (!this.#hasLinkName()) throw linkNameProblem(this.options.wanted.name);
    const { cloud, locks, wanted: { problem } } = this.options;
    // The configuration changes when the cloud has it.
    if (problem !== undefined) throw new PackageError("impossible", problem);
    const answer = cloud && await this.#ask(cloud, signal);
    if (!cloud || !answer) return this.#withoutCloud();
    const version = this.changes ? answer.info?.version : this.#key.version;
    if (!version) {
      throw new PackageError("refused", `the cloud does not report which version ${this.label} is`);
    }
    const key = { ...this.#key, version };
    checkKey(key);
    report.version(version);
    // Another name, or "latest", may be for the same package.
    return await locks.run(`${key.type} ${key.package} ${version}`, async () => {
      signal.throwIfAborted();
      return this.options.installer.find(key) ??
        await this.#fetch(cloud, key, answer, report, signal);
    });
  }

  /** Models get a link with their name. */
  #hasLinkName(): boolean {
    const { type, name } = this.options.wanted;
    return type !== "ml_model" || isLinkName(name);
  }

  /** What the cloud knows of the package; undefined when another version is good enough for now. */
  async #ask(cloud: PackageCloud, signal: AbortSignal): Promise<Package | undefined> {
    const { package: id, type } = this.#key;
    try {
      const answer = await cloud.client.getPackage({
        id,
        version: this.#key.version,
        type: PROTO_TYPES[type],
        includeUrl: true,
        ...(type === "module" && { platform: cloud.platform }),
      }, { signal, timeoutMs: ASK_TIMEOUT_MS });
      if (answer.package?.url) return answer.package;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const kind = PASSING.has(ConnectError.from(error).code) ? "unreachable" : "refused";
      if (kind === "unreachable" && this.changes && this.previous()) return undefined;
      throw new PackageError(
        kind,
        `the cloud does not report where the package ${this.label} is: ${reasonOf(error)}`,
        error,
      );
    }
    throw new PackageError("refused", `the cloud gives no address for the package ${this.label}`);
  }

  #withoutCloud(): InstalledPackage {
    const previous = this.changes ? this.previous() : undefined;
    if (previous) return previous;
    throw new PackageError(
      "impossible",
      `the package ${this.label} is not on this machine, and there is no cloud that it could ` +
        "come from; add the machine to a cloud, or use a local archive",
    );
  }

  async #fetch(
    cloud: PackageCloud,
    key: PackageKey,
    answer: Package,
    report: SourceReport,
    signal: AbortSignal,
  ): Promise<InstalledPackage> {
    const { layout, installer } = this.options;
    const part = layout.part(key);
    report.downloading(0, 0);
    const downloaded = await this.#download(cloud, key, part, answer, report, signal);
    report.loading();
    try {
      const installed = await installer.install({
        archive: part,
        root: `packages/data/${key.type}`,
        identify: ({ sha256 }) => Promise.resolve(this.#identified(key, sha256, downloaded.sha256)),
        signal,
      });
      await removeIfThere(part);
      return installed;
    } catch (error) {
      if (error instanceof PackageError && error.kind === "refused") {
        await removeIfThere(part);
        this.options.store.removeDownload(key);
      }
      throw error;
    }
  }

  async #download(
    cloud: PackageCloud,
    key: PackageKey,
    part: string,
    answer: Package,
    report: SourceReport,
    signal: AbortSignal,
  ) {
    const { layout, store, space, limits, clock, log } = this.options;
    const [{ download }, { sha256From }] = await Promise.all([
      import("../../../shared/transfer/download/download.ts"),
      import("../../../shared/transfer/download/checksums.ts"),
    ]);
    const sha256 = sha256From(answer.checksum);
    const options: DownloadOptions = {
      requests: cloud.requests,
      url: answer.url,
      what: "package",
      contentTypes: ARCHIVE_TYPES,
      headFirst: true,
      needsChecksum: true,
      announced: sha256 ? { sha256 } : {},
      part,
      begun: store.download(key),
      onBegin: (begun) => {
        log.info(`downloading the package ${this.label}`, { bytes: begun.totalBytes });
        store.beginDownload(key, begun, clock.now());
        faultPoint("packages.download.begun");
      },
      onProgress: (bytes, totalBytes) => report.downloading(bytes, totalBytes),
      space,
      roomFactor: 2, // unpacked it takes at least the same again
      limits,
      clock,
      signal,
    };
    try {
      await Deno.mkdir(layout.parts, { recursive: true, mode: 0o755 });
    } catch (error) {
      throw toPackageError(error, "create the folder", layout.parts);
    }
    try {
      return await download(options);
    } catch (error) {
      throw error instanceof TransferError ? toPackageError(error, "fetch", answer.url) : error;
    }
  }

  /** The file on the disk must still be the one that was checked. */
  #identified(key: PackageKey, read: string, checked: string) {
    if (read === checked) return { key, source: "" };
    throw new PackageError(
      "refused",
      `the archive changed on the disk: its sha256 was ${checked}, now it is ${read}`,
    );
  }
}

async function removeIfThere(path: string): Promise<void> {
  await Deno.remove(path).catch(() => {}); // removed with other old parts at the latest
}
