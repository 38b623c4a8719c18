/** For tests: a package manager with everything around it. */
import { join } from "node:path";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import {
  FileServer,
  randomBytes,
  type ServedFile,
  sha256Of,
  withFolder,
} from "../../../shared/transfer/download/testing.ts";
import { type MemoryLogger, memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { closeSqlite, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { serverMigrations } from "../../config/state/schema.ts";
import { PackageManager, type PackageManagerOptions } from "./package_manager.ts";
import type { WantedCloudPackage, WantedPackage } from "./package_types.ts";
import { tarGzOf } from "../../../shared/transfer/archive/testing.ts";
import { FakePackageCloud } from "./fake_package_cloud.ts";

/** A machine's packages from its start to its end. */
export class PackageRig {
  readonly cloud = new FakePackageCloud();
  readonly log: MemoryLogger = memoryLogger("package_manager");
  readonly manager: PackageManager;
  changes = 0;
  readonly #db;

  constructor(
    readonly home: string,
    readonly server: FileServer,
    clock: Clock,
    options: Partial<PackageManagerOptions> = {},
  ) {
    this.#db = openSqlite(join(home, "server.db"), {
      name: "server",
      migrations: serverMigrations,
      synchronous: "FULL",
    });
    this.manager = new PackageManager({
      home,
      db: this.#db,
      cloud: {
        client: this.cloud.client,
        address: server.origin,
        credentials: { type: "robot-secret", entity: "part", payload: new Secret("s3cret") },
        allowInsecure: false,
        platform: "linux/amd64",
      },
      clock,
      log: this.log,
      onChange: () => this.changes++,
      random: () => 1,
      ...options,
    });
  }

  /** Puts an archive on the server and its address into the cloud. */
  publish(
    id: string,
    version: string,
    bytes: Uint8Array<ArrayBuffer>,
    file: Partial<ServedFile> = {},
  ): ServedFile {
    const path = `/${id}/${version}.tar.gz`;
    const served: ServedFile = { bytes, ...file };
    this.server.files.set(path, served);
    const checksum = file.sha256 ?? sha256Of(bytes);
    this.cloud.packages.set(`${id} ${version}`, { url: `${this.server.origin}${path}`, checksum });
    return served;
  }

  /** State and error of one package. */
  stateOf(name: string): string {
    const found = this.manager.snapshot().find((one) => one.name === name);
    return found ? [found.state, found.error].filter(Boolean).join(": ") : "none";
  }

  async close(): Promise<void> {
    await this.manager.close();
    closeSqlite(this.#db);
  }
}

/**
 * The whole life of a server that wants one model: what a test kills somewhere in between.
 *
 * @param url where version `version` of acme/net is.
 */
export async function installModel(home: string, url: string, version: string) {
  const { origin } = new URL(url);
  const rig = new PackageRig(home, { origin } as FileServer, systemClock);
  rig.cloud.packages.set(`acme/net ${version}`, { url });
  const wanted: WantedPackage = { name: "net", package: "acme/net", version, type: "ml_model" };
  await rig.manager.apply([wanted]);
  await rig.manager.cleanUp([]);
  const folder = rig.manager.folder("ml_model", "net");
  await rig.close();
  return folder;
}

/** An archive with a program in it. */
export const program = tarGzOf([
  { path: "run", content: "#!/bin/sh\n", mode: 0o755 },
  { path: "data.bin", content: randomBytes(300_000) },
]);

/** A small archive with a text in it. */
export const small = (text: string) => tarGzOf([{ path: "version", content: text }]);

/** A module that the configuration wants. */
export const reader: WantedCloudPackage = {
  name: "reader",
  package: "acme/reader",
  version: "1.2.3",
  type: "module",
};

/** A home, a server for archives and a clock that stands still. */
export interface PackageHome {
  home: string;
  server: FileServer;
  clock: FakeClock;
  /** Starts a server on the same home; it is closed at the end, if not before. */
  start(options?: Partial<PackageManagerOptions>): PackageRig;
}

/** Runs a test with a {@link PackageHome}. */
export function withPackageHome(test: (at: PackageHome) => Promise<void>): Promise<void> {
  return withFolder(async (home) => {
    const server = await FileServer.start();
    const clock = new FakeClock();
    const rigs: PackageRig[] = [];
    const start = (options: Partial<PackageManagerOptions> = {}) => {
      const rig = new PackageRig(home, server, clock, options);
      rigs.push(rig);
      return rig;
    };
    try {
      await test({ home, server, clock, start });
    } finally {
      for (const rig of rigs) await rig.close();
      await server.close();
    }
  });
}

/** The rig's parts by name, usable apart from it. */
export function bound(rig: PackageRig) {
  return {
    manager: rig.manager,
    cloud: rig.cloud,
    log: rig.log,
    publish: rig.publish.bind(rig),
    stateOf: rig.stateOf.bind(rig),
    changes: () => rig.changes,
  };
}
