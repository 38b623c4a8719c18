import { newTreeMark } from "../../shared/base/process/system_processes.ts";
import type { ProcessMark } from "../../shared/base/process/child_process.ts";
import {
  closeSqlite,
  type Database,
  type Migration,
  openSqlite,
} from "../../shared/base/store/sqlite.ts";
import { cloudWishesMigration } from "./cloud_wishes_schema.ts";
import { downloadsMigration } from "./downloads_schema.ts";
import { lowestVersionsMigration } from "./lowest_versions_schema.ts";
import { networksMigration } from "./networks_schema.ts";
import { serverHealthMigration } from "./server_health_schema.ts";
import { updatesMigration } from "./updates_schema.ts";

/** A version of a program that is in use. */
export interface InstalledVersion {
  /** As the cloud names it: `0.3.1`, `customURL`. */
  readonly version: string;
  readonly url: string;
  /** The file that is started. */
  readonly path: string;
  /** Hexadecimal, whole or its first digits. Absent for a program that is used where it lies. */
  readonly sha256?: string;
  /** Of a file on this host: changes when its content does. */
  readonly stamp?: string;
}

const migrations: readonly Migration[] = [
  {
    version: 1,
    name: "device configuration, installed versions, server process",
    up: `
      CREATE TABLE device_config (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        config TEXT NOT NULL,
        received_at TEXT NOT NULL
      ) STRICT;
      CREATE TABLE installed_version (
        program TEXT PRIMARY KEY,
        version TEXT NOT NULL,
        url TEXT NOT NULL,
        path TEXT NOT NULL,
        installed_at TEXT NOT NULL
      ) STRICT;
      CREATE TABLE server_process (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        tree TEXT NOT NULL,
        pid INTEGER,
        started TEXT
      ) STRICT;
    `,
  },
  downloadsMigration,
  updatesMigration,
  cloudWishesMigration,
  serverHealthMigration,
  lowestVersionsMigration,
  networksMigration,
];

/** What the agent must know after a restart, on disk before anything relies on it. */
export class AgentState {
  readonly #db: Database;

  private constructor(db: Database) {
    this.#db = db;
  }

  /** @throws {StoreError} one line for the operator; the file is then as it was. */
  static open(path: string, { isAlone = false } = {}): AgentState {
    const options = { name: "agent", migrations, synchronous: "FULL", isAlone } as const;
    return new AgentState(openSqlite(path, options));
  }

  /** For parts of the agent that keep tables of their own in this database. */
  get database(): Database {
    return this.#db;
  }

  /** The last configuration from the cloud, as it was saved. */
  deviceConfig(): string | undefined {
    return this.#row<{ config: string }>("SELECT config FROM device_config")?.config;
  }

  saveDeviceConfig(config: string, now: Date): void {
    this.#db.prepare(
      "INSERT INTO device_config (only, config, received_at) VALUES (1, ?, ?) " +
        "ON CONFLICT DO UPDATE SET config = excluded.config, received_at = excluded.received_at",
    ).run(config, now.toISOString());
  }

  installed(program: string): InstalledVersion | undefined {
    return this.#row<InstalledVersion>(
      "SELECT version, url, path FROM installed_version WHERE program = ?",
      program,
    );
  }

  saveInstalled(program: string, installed: InstalledVersion, now: Date): void {
    const { version, url, path } = installed;
    this.#db.prepare(
      "INSERT OR REPLACE INTO installed_version (program, version, url, path, installed_at) " +
        "VALUES (?, ?, ?, ?, ?)",
    ).run(program, version, url, path, now.toISOString());
  }

  /** What an update of a program has come to, as {@link saveUpdate} got it. */
  update(program: string): string | undefined {
    return this.#row<{ record: string }>(
      "SELECT record FROM program_update WHERE program = ?",
      program,
    )?.record;
  }

  /** On disk when it returns. */
  saveUpdate(program: string, record: string, now: Date): void {
    this.#db.prepare(
      "INSERT OR REPLACE INTO program_update (program, record, changed_at) VALUES (?, ?, ?)",
    ).run(program, record, now.toISOString());
  }

  /** The mark that every server of this folder carries; made at the first call and then kept. */
  serverTree(): string {
    const sql = "SELECT tree FROM server_process";
    const known = this.#row<{ tree: string }>(sql)?.tree;
    // A disk that takes nothing must not keep the server from its start.
    if (known) return known;
    this.#db.prepare("INSERT OR IGNORE INTO server_process (only, tree) VALUES (1, ?)")
      .run(newTreeMark());
    return this.#row<{ tree: string }>(sql)?.tree ?? "";
  }

  /** The server started last, when it was not seen ending. */
  serverProcess(): ProcessMark | undefined {
    const row = this.#row<{ tree: string; pid: number | null; started: string | null }>(
      "SELECT tree, pid, started FROM server_process",
    );
    if (!row || row.pid === null) return undefined;
    return { tree: row.tree, pid: row.pid, started: row.started ?? "" };
  }

  saveServerProcess(mark: ProcessMark | undefined): void {
    this.#db.prepare("UPDATE server_process SET pid = ?, started = ?")
      .run(mark?.pid ?? null, mark?.started ?? null);
  }

  /** Whether the server served when that was saved last, by this agent or the one before. */
  serverServed(): boolean {
    return this.#row<{ served: number }>("SELECT served FROM server_process")?.served === 1;
  }

  saveServerServed(served: boolean): void {
    this.serverTree();
    this.#db.prepare("UPDATE server_process SET served = ?").run(served ? 1 : 0);
  }

  close(): void {
    closeSqlite(this.#db);
  }

  #row<T>(sql: string, ...parameters: string[]): T | undefined {
    return this.#db.prepare<string[], T>(sql).get(...parameters);
  }
}
