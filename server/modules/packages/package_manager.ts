/** Brings the packages of a configuration onto this machine and keeps them there. */
import type { Client } from "@connectrpc/connect";
import type { CloudCredentials } from "../../../shared/cloud/auth/cloud_credentials.ts";
import { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import {
  TRANSFER_LIMITS,
  type TransferLimits,
} from "../../../shared/transfer/download/watchdog.ts";
import type { PackageService } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { Limiter } from "../../resources/graph/limiter.ts";
import type { ArchiveLimits } from "../../../shared/transfer/archive/archive_policy.ts";
import { CloudPackage, type PackageCloud } from "./cloud_package.ts";
import { Housekeeping } from "./housekeeping.ts";
import { Installation } from "./installation.ts";
import { Installer } from "./installer.ts";
import { KeyedLock } from "../../../shared/transfer/download/keyed_lock.ts";
import { LocalPackage } from "./local_package.ts";
import { PackageLayout } from "./package_layout.ts";
import { packageRequests } from "./package_requests.ts";
import type { PackageSource } from "./package_source.ts";
import { type InstalledPackage, PackageStore } from "./package_store.ts";
import type {
  PackageFolder,
  PackageSnapshot,
  PackageType,
  WantedPackage,
} from "./package_types.ts";

/** So many packages are fetched and unpacked at the same time. */
const AT_ONCE = 3;
/** Progress is reported no more often. Milliseconds. */
const PROGRESS_MS = 1_000;
/** Unfinished downloads are looked through so often. Milliseconds. */
const PARTS_EVERY_MS = 3_600_000;

export interface PackageManagerOptions {
  /** `$MACHINE_HOME`. */
  readonly home: string;
  /** The server's database. */
  readonly db: Database;
  /** Undefined on a machine without a cloud: then only what is here already, and local archives. */
  readonly cloud?: {
    readonly client: Pick<Client<typeof PackageService>, "getPackage">;
    /** `https://host:port`; only this origin gets the credentials. */
    readonly address: string;
    readonly credentials: CloudCredentials;
    readonly allowInsecure: boolean;
    /** `linux/amd64`. */
    readonly platform: string;
  } | undefined;
  readonly clock: Clock;
  /** The logger `package_manager`. */
  readonly log: Logger;
  /** Called when `folder` or `snapshot` have something new. Must not throw. */
  readonly onChange: () => void;
  /** Default the runtime's. */
  readonly fetch?: typeof fetch;
  /** Default: the system's free space, above the floor. */
  readonly space?: DiskSpace;
  readonly transferLimits?: TransferLimits;
  readonly archiveLimits?: ArchiveLimits;
  /** Random numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** A package by the name that the configuration gives it. */
interface Entry {
  readonly wanted: WantedPackage;
  readonly installation: Installation;
  firstRun: { readonly running: boolean; readonly error: string; readonly at: Date } | undefined;
}

export class PackageManager {
  readonly #options: PackageManagerOptions;
  readonly #layout: PackageLayout;
  readonly #store: PackageStore;
  readonly #installer: Installer;
  readonly #housekeeping: Housekeeping;
  readonly #cloud: PackageCloud | undefined;
  readonly #space: DiskSpace;
  readonly #limiter = new Limiter(AT_ONCE);
  readonly #locks = new KeyedLock();
  /** By type and name. */
  #entries = new Map<string, Entry>();
  /** By what is fetched: several entries may want the same. */
  #installations = new Map<string, Installation>();
  readonly #ending = new Set<Promise<void>>();
  #repaired: Promise<void> | undefined;
  #cleaning: Promise<void> = Promise.resolve();
  #partsTimer: Timer | undefined;
  #progressToldMs = -Infinity;
  #closed = false;

  constructor(options: PackageManagerOptions) {
    const { home, db, cloud, clock, log } = options;
    this.#options = options;
    this.#layout = new PackageLayout(home);
    this.#store = new PackageStore(db);
    this.#space = options.space ?? new DiskSpace();
    const shared = { layout: this.#layout, store: this.#store, clock, log };
    const limits = options.archiveLimits;
    this.#installer = new Installer({ ...shared, space: this.#space, limits });
    this.#housekeeping = new Housekeeping({ ...shared, installer: this.#installer });
    this.#cloud = cloud && {
      client: cloud.client,
      platform: cloud.platform,
      requests: packageRequests({ ...cloud, fetch: options.fetch ?? fetch }),
    };
  }

  /**
   * Takes what the configuration wants from now on. What stays continues as it is; local archives
   * are looked at again.
   *
   * @returns when each package is ready or failed once; failed ones are tried again automatically.
   */
  async apply(wanted: readonly WantedPackage[]): Promise<void> {
    await (this.#repaired ??= this.#repair());
    if (this.#closed) return;
    const entries = new Map<string, Entry>();
    const installations = new Map<string, Installation>();
    const added: Entry[] = [];
    for (const one of wanted) {
      const key = keyOf(one.type, one.name);
      if (entries.has(key)) {
        this.#options.log.warn(`two packages of the type ${one.type} are called ${one.name}`);
        continue;
      }
      const what = identityOf(one);
      const known = installations.get(what) ?? this.#installations.get(what);
      known?.recheck();
      const installation = known ?? this.#begin(one);
      installations.set(what, installation);
      const old = this.#entries.get(key);
      if (old?.installation === installation) entries.set(key, old);
      else {
        const entry = { wanted: one, installation, firstRun: undefined };
        entries.set(key, entry);
        added.push(entry);
      }
    }
    this.#end([...this.#installations].filter(([what]) => !installations.has(what)));
    this.#entries = entries;
    this.#installations = installations;
    this.#options.onChange();
    for (const { installation } of added) {
      if (installation.installed) await this.#link(installation, installation.installed);
    }
    await Promise.all([...installations.values()].map(({ settled }) => settled));
  }

  /** Where a package lies; undefined when the configuration does not have it. */
  folder(type: PackageType, name: string): PackageFolder | undefined {
    const entry = this.#entries.get(keyOf(type, name));
    if (!entry) return undefined;
    const { state, installed, error, source } = entry.installation;
    if (state === "ready" && installed) return { path: this.#layout.absolute(installed.folder) };
    const old = installed ?? source.previous();
    const previous = old && { previous: this.#layout.absolute(old.folder) };
    if (state === "failed") return { problem: error, ...previous };
    const doing = state === "downloading" ? "downloaded" : "unpacked";
    return { pending: `the package ${source.label} is being ${doing}`, ...previous };
  }

  /** All packages, in the order of the configuration. */
  snapshot(): PackageSnapshot[] {
    return [...this.#entries.values()].map(({ wanted: { name, type }, installation, firstRun }) => {
      const { version, state, error, lastUpdated, bytesDownloaded, totalBytes } = installation;
      const seen = { name, type, version, bytesDownloaded, totalBytes };
      if (state !== "ready" || !firstRun || (!firstRun.running && firstRun.error === "")) {
        return { ...seen, state, error, lastUpdated };
      }
      return {
        ...seen,
        state: firstRun.running ? "first_run" : "failed",
        error: firstRun.error,
        lastUpdated: firstRun.at,
      };
    });
  }

  /** Shows that a module's first-run script runs, or how it ended. */
  setFirstRun(name: string, running: boolean, error = ""): void {
    const entry = this.#entries.get(keyOf("module", name));
    if (!entry) return;
    entry.firstRun = { running, error, at: this.#options.clock.now() };
    this.#options.onChange();
  }

  /**
   * Removes versions that the configuration no longer wants.
   *
   * @param keep absolute paths of folders that are still in use, such as those of modules that run.
   */
  cleanUp(keep: Iterable<string>): Promise<void> {
    const inUse = new Set(keep);
    return this.#cleaning = this.#cleaning.then(async () => {
      await this.#repaired;
      if (this.#closed || !this.#repaired) return;
      await this.#housekeeping.removePackages((installed) => this.#isKept(installed, inUse));
      const models = [...this.#entries.values()].filter(({ wanted }) => wanted.type === "ml_model");
      await this.#housekeeping.removeLinks(new Set(models.map(({ wanted }) => wanted.name)));
    });
  }

  /** Breaks off all work; what was downloaded stays for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#repaired;
    this.#partsTimer?.cancel();
    this.#end([...this.#installations]);
    await Promise.all(this.#ending);
    await this.#cleaning;
  }

  async #repair(): Promise<void> {
    await this.#housekeeping.repair();
    this.#watchParts();
  }

  #watchParts(): void {
    if (this.#closed) return;
    this.#partsTimer = this.#options.clock.setTimer(PARTS_EVERY_MS, () => {
      this.#cleaning = this.#cleaning.then(() => this.#housekeeping.removeOldParts());
      this.#watchParts();
    });
  }

  #begin(wanted: WantedPackage): Installation {
    const { clock, log } = this.#options;
    const installation: Installation = new Installation({
      source: this.#sourceOf(wanted),
      limiter: this.#limiter,
      clock,
      log,
      random: this.#options.random ?? Math.random,
      onInstalled: (installed) => this.#link(installation, installed),
      onChange: (what) => this.#changed(what),
    }, "version" in wanted ? wanted.version : "");
    return installation;
  }

  #sourceOf(wanted: WantedPackage): PackageSource {
    const shared = { store: this.#store, installer: this.#installer, locks: this.#locks };
    if ("tarball" in wanted) return new LocalPackage({ ...shared, wanted });
    return new CloudPackage({
      ...shared,
      wanted,
      cloud: this.#cloud,
      layout: this.#layout,
      space: this.#space,
      limits: this.#options.transferLimits ?? TRANSFER_LIMITS,
      clock: this.#options.clock,
      log: this.#options.log,
    });
  }

  #end(installations: readonly (readonly [string, Installation])[]): void {
    for (const [, installation] of installations) {
      const ended = installation.stop().finally(() => this.#ending.delete(ended));
      this.#ending.add(ended);
    }
  }

  async #link(installation: Installation, installed: InstalledPackage): Promise<void> {
    for (const { wanted, installation: its } of [...this.#entries.values()]) {
      if (its !== installation || wanted.type !== "ml_model") continue;
      await this.#housekeeping.link(wanted.name, installed);
    }
  }

  #isKept(installed: InstalledPackage, inUse: ReadonlySet<string>): boolean {
    if (inUse.has(this.#layout.absolute(installed.folder))) return true;
    return [...this.#entries.values()].some(({ wanted, installation }) => {
      if (installation.installed?.folder === installed.folder) return true;
      // Until a version is ready, the one before it may be needed.
      return installation.state !== "ready" && wanted.type === installed.type &&
        idOf(wanted) === installed.package;
    });
  }

  #changed(what: "state" | "progress"): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (what === "progress" && nowMs - this.#progressToldMs < PROGRESS_MS) return;
    this.#progressToldMs = nowMs;
    this.#options.onChange();
  }
}

function keyOf(type: PackageType, name: string): string {
  return `${type}/${name}`;
}

function idOf(wanted: WantedPackage): string {
  return "tarball" in wanted ? wanted.name : wanted.package;
}

/** Equal for entries that are served by the same installation. */
function identityOf(wanted: WantedPackage): string {
  return JSON.stringify(
    "tarball" in wanted
      ? ["local", wanted.name, wanted.tarball]
      : ["cloud", wanted.type, wanted.package, wanted.version, linkOf(wanted), wanted.problem],
  );
}

/** Models whose name cannot be a link fail alone. */
function linkOf({ type, name }: WantedPackage): string {
  return type === "ml_model" ? name : "";
}
