/** What the doctor looks at where the database is not in the data folder. Nothing is changed. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import { databaseAddress } from "../../storage/data_folder/database_choice.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ArchivedFiles, PostgresLoad } from "../../storage/postgres/inspect.ts";
import { MOST_FILES, NO_FILES } from "./archive_checks.ts";
import { failed, type Finding, ok, warning } from "./check.ts";

/** How the doctor reads what the cloud left in its table of settings. */
export type ReadSetting = (name: string) => string | undefined;

export interface PostgresFindings {
  readonly findings: Finding[];
  readonly read: ReadSetting;
  readonly archived: ArchivedFiles;
  /** Reads that once more. */
  readonly archivedAgain: () => Promise<ArchivedFiles>;
}

/** The database of a cloud on PostgreSQL; undefined: this one has SQLite in its folder. */
export async function checkPostgres(
  dataDir: string,
  known: number,
  clock: Clock,
): Promise<PostgresFindings | undefined> {
  const text = databaseAddress(dataDir);
  if (text === undefined) return undefined;
  const { parsePostgresAddress } = await import("../../storage/postgres/address.ts");
  const { inspectPostgres } = await import("../../storage/postgres/inspect.ts");
  try {
    const address = parsePostgresAddress(text, dataDir);
    const state = await inspectPostgres(address, MOST_FILES);
    const { schemaVersion, serverVersion, settings, load, archived } = state;
    const which = `${address.shown} (PostgreSQL ${serverVersion})`;
    return {
      findings: [
        versionFinding(which, schemaVersion, known),
        serverFinding(serverVersion, load),
        connectionsFinding(load, address.pool + BESIDE_POOL),
        locksFinding(load),
        clockFinding(load, clock.now().getTime()),
      ],
      read: (name) => settings.get(name),
      archived,
      archivedAgain: async () => (await inspectPostgres(address, MOST_FILES)).archived,
    };
  } catch (error) {
    const advice = "machine-cloud cannot serve until this is corrected";
    return {
      findings: [failed("database", toError(error).message, advice)],
      read: () => undefined,
      archived: NO_FILES,
      archivedAgain: () => Promise.resolve(NO_FILES),
    };
  }
}

function versionFinding(which: string, has: number, known: number): Finding {
  if (has > known) {
    return failed(
      "database",
      `${which} has schema ${has}, this program knows ${known}`,
      "use the newer program that served it last",
    );
  }
  if (has < known) {
    return warning(
      "database",
      `${which} has schema ${has} of ${known}`,
      "the next start of serve brings it up to date; make a backup with the program before",
    );
  }
  return ok("database", `${which}, schema ${has}`);
}

/** Connections with which a process listens, holds locks and runs queries. */
const BESIDE_POOL = 8;
const OLDEST_SERVER = 14;
const OLD_TRANSACTION_S = 600;
const MOST_CLOCK_MS = 5_000;

function serverFinding(version: string, { bytes, isStandby }: PostgresLoad): Finding {
  if (Number.parseInt(version) < OLDEST_SERVER) {
    const detail = `it is PostgreSQL ${version}`;
    return failed("server", detail, `use PostgreSQL ${OLDEST_SERVER} or later`);
  }
  if (isStandby) {
    const advice = "give the address of the primary, or promote this one";
    return failed("server", "it is a standby, which takes no writes", advice);
  }
  const size = `the database has ${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return ok("server", `${size}; how full its disk is, the server does not say`);
}

function connectionsFinding({ connections }: PostgresLoad, needed: number): Finding {
  const { used, most } = connections;
  const detail = `${used} of ${most} connections are in use`;
  if (used + needed <= most) return ok("connections", detail);
  return warning(
    "connections",
    `${detail}, and a process takes up to ${needed}`,
    "raise max_connections of the server, or lower pool= in the address; where the cloud serves " +
      "already, part of them are its own",
  );
}

function locksFinding({ waiting, oldestSeconds }: PostgresLoad): Finding {
  if (waiting > 0) {
    return warning(
      "locks",
      `${waiting} connections have waited for a lock for more than 5 s`,
      "look in pg_stat_activity and pg_blocking_pids() who holds it",
    );
  }
  if (oldestSeconds > OLD_TRANSACTION_S) {
    return warning(
      "locks",
      `a transaction has been open for ${Math.round(oldestSeconds / 60)} minutes`,
      "what is deleted is not removed until it ends; look in pg_stat_activity whose it is",
    );
  }
  return ok("locks", "nobody waits");
}

function clockFinding({ nowMs }: PostgresLoad, hostMs: number): Finding {
  const difference = Math.round((hostMs - nowMs) / 1_000);
  if (Math.abs(hostMs - nowMs) <= MOST_CLOCK_MS) {
    return ok("database clock", "that of this host and that of the server agree");
  }
  return warning(
    "database clock",
    `this host is ${Math.abs(difference)} s ${difference > 0 ? "ahead of" : "behind"} the server`,
    "set both by NTP; that of the server counts",
  );
}
