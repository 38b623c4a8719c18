/** What the doctor looks at in a data folder. Nothing in it is changed. */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { loadOrCreateKeys } from "../../storage/keys/key_file.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { parseTimeState } from "../../storage/steady_time/time_state.ts";
import { databaseAddress } from "../../storage/data_folder/database_choice.ts";
import { UNFINISHED_RESTORE } from "../../storage/data_folder/unfinished_restore.ts";
import { failed, type Finding, ok, warning } from "./check.ts";

const GIB = 1024 ** 3;
/** A cloud with less cannot take an upload of its default limit. */
const LITTLE_ROOM = 5 * GIB;
const NO_ROOM = 256 * 1024 * 1024;
const MINUTE_MS = 60_000;

/** The folder itself: there, whole, with room. */
export async function checkFolder(
  dataDir: string,
  freeBytes: (path: string) => Promise<number> = freeBytesOf,
): Promise<Finding[]> {
  if (!existsSync(join(dataDir, "cloud.db")) && databaseAddress(dataDir) === undefined) {
    return [failed(
      "folder",
      `${dataDir} has no cloud.db`,
      "name the folder that serve uses with --data; a new one is made by serve or bootstrap",
    )];
  }
  if (existsSync(join(dataDir, UNFINISHED_RESTORE))) {
    return [failed(
      "folder",
      `a restore into ${dataDir} was cut`,
      `run machine-cloud restore FILE --data ${dataDir} again`,
    )];
  }
  const free = await freeBytes(dataDir);
  const room = `${(free / GIB).toFixed(1)} GiB free on the disk of ${dataDir}`;
  const advice = "make room or move the folder to a larger disk; `machine-cloud data settings` " +
    "sets how long captured data is kept";
  if (free < NO_ROOM) return [ok("folder", dataDir), failed("disk", room, advice)];
  if (free < LITTLE_ROOM) return [ok("folder", dataDir), warning("disk", room, advice)];
  return [ok("folder", dataDir), ok("disk", room)];
}

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

/** Files that nobody but their owner may read. */
export async function checkKeyFiles(dataDir: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of ["cloud.key", "release.key", "ca.pem"]) {
    const path = join(dataDir, name);
    if (!existsSync(path)) {
      if (name === "cloud.key") {
        findings.push(failed(
          "keys",
          "cloud.key is missing",
          "put it back from a backup: without it no secret and no key of this cloud can be checked",
        ));
      }
      continue;
    }
    const { mode } = await Deno.stat(path);
    if (mode !== null && (mode & 0o077) !== 0 && Deno.build.os !== "windows") {
      findings.push(failed(
        "keys",
        `${name} can be read by other users (mode ${(mode & 0o777).toString(8)})`,
        `chmod 600 ${path}, and think of it as known to those who have an account here`,
      ));
    } else findings.push(ok("keys", `${name} is readable by its owner only`));
  }
  return findings;
}

/** One database: whole, and of a schema that this program knows. */
export function checkDatabase(dataDir: string, name: string, known: number): Finding {
  const path = join(dataDir, name);
  if (!existsSync(path) || Deno.statSync(path).size === 0) {
    return warning("database", `${name} is not there yet`, "serve makes it");
  }
  let db;
  try {
    db = connect(path, addonFor(path), true);
    const verdict = String(db.pragma("quick_check(1)", { simple: true }));
    if (verdict !== "ok") throw new Error(verdict);
    const { version } = db.prepare<[], { version: number | null }>(
      "SELECT max(version) AS version FROM schema_migrations",
    ).get() ?? { version: null };
    const has = version ?? 0;
    if (has > known) {
      return failed(
        "database",
        `${name} has schema ${has}, this program knows ${known}`,
        "use the newer program that served it last, or restore a backup from before",
      );
    }
    if (has < known) {
      return warning(
        "database",
        `${name} has schema ${has} of ${known}`,
        "the next start of serve brings it up to date; make a backup before",
      );
    }
    return ok("database", `${name} is whole, schema ${has}`);
  } catch (error) {
    return failed(
      "database",
      `${name} is damaged: ${(error as Error).message}`,
      "stop serve and restore the last backup into an empty folder; keep the damaged one",
    );
  } finally {
    db?.close();
  }
}

/** Whether key and database belong together. */
export async function checkKeyFits(
  dataDir: string,
  read: (name: string) => string | undefined = sqliteSettings(dataDir),
  name = "cloud.db",
): Promise<Finding[]> {
  if (!existsSync(join(dataDir, "cloud.key"))) return [];
  try {
    const { secrets } = await loadOrCreateKeys(dataDir, systemRandom);
    const known = read("key_fingerprint");
    if (known === undefined || known === secrets.fingerprint()) {
      return [ok("keys", `cloud.key belongs to ${name}`)];
    }
    return [failed(
      "keys",
      `cloud.key is not the one that ${name} was made with`,
      "put the cloud.key back that belongs to it, from the same backup",
    )];
  } catch (error) {
    return [failed("keys", (error as Error).message, "restore it from a backup")];
  }
}

/** The settings of a cloud whose database is SQLite. */
export function sqliteSettings(dataDir: string): (name: string) => string | undefined {
  return (name) => setting(join(dataDir, "cloud.db"), name);
}

/** Whether the clock of this host is behind what was written before, or has jumped. */
export function checkClock(
  dataDir: string,
  now: Date,
  read: (name: string) => string | undefined = sqliteSettings(dataDir),
): Finding {
  const path = join(dataDir, "logs.db");
  const newest = newestLine(path);
  if (newest !== undefined && newest > now.getTime() + MINUTE_MS) {
    return failed(
      "clock",
      `it says ${now.toISOString()}, and a log line came ${new Date(newest).toISOString()}`,
      "set the clock, best by NTP: certificates, tokens and what is kept for how long depend on it",
    );
  }
  const kept = parseTimeState(read("steady_time"));
  if (kept?.other) {
    return warning(
      "clock",
      `it says ${now.toISOString()}, and has jumped: ${
        new Date(kept.steadyMs).toISOString()
      } was expected`,
      "set it if it is wrong; else it counts once the cloud has served for a day",
    );
  }
  return ok("clock", now.toISOString());
}

function newestLine(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  let db;
  try {
    db = connect(path, addonFor(path), true);
    return db.prepare<[], { received_at: number }>(
      "SELECT received_at FROM lines ORDER BY seq DESC LIMIT 1",
    ).get()?.received_at;
  } catch {
    return undefined; // The check of the databases says what is wrong with it.
  } finally {
    db?.close();
  }
}

/** A setting that serve left in the database. */
function setting(path: string, name: string): string | undefined {
  let db;
  try {
    db = connect(path, addonFor(path), true);
    return db.prepare<[string], { value: string }>("SELECT value FROM settings WHERE name = ?")
      .get(name)?.value;
  } catch {
    return undefined; // The check of the databases says what is wrong with it.
  } finally {
    db?.close();
  }
}
