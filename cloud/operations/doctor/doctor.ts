import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { logMigrations } from "../../fleet/logs/log_migrations.ts";
import { AUTHORITY_FILE } from "../../storage/data_folder/database_choice.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import { loadOrCreateKeys } from "../../storage/keys/key_file.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { openText } from "../../storage/keys/sealed_text.ts";
import type { TlsPair } from "../tls/pair.ts";
import type { S3Settings } from "../../storage/blobs/s3_settings.ts";
import { checkArchive, readSqliteArchive, sqliteArchive } from "./archive_checks.ts";
import { failed, type Finding, skipped } from "./check.ts";
import { checkPostgres } from "./database_checks.ts";
import {
  checkClock,
  checkDatabase,
  checkFolder,
  checkKeyFiles,
  checkKeyFits,
  sqliteSettings,
} from "./folder_checks.ts";
import { checkAuthority, checkPublicUrl, checkSmtp, checkTls } from "./network_checks.ts";

export interface DoctorOptions {
  readonly dataDir: string;
  /** Left out: where the cloud served last. */
  readonly publicUrl?: string | undefined;
  /** The certificate of the cloud, or why it cannot be read. */
  readonly tls?: TlsPair | { readonly unreadable: string } | undefined;
  /** Certificate file of the authority that serve is given. Default: the cloud's own. */
  readonly authority?: string | undefined;
  readonly smtpUrl?: string | undefined;
  /** Where files are besides the folder, as serve is given it. */
  readonly objectStorage?: S3Settings | undefined;
}

/** Looks at everything that a cloud needs, and changes nothing. */
export async function examine(options: DoctorOptions, clock: Clock): Promise<Finding[]> {
  const { dataDir, tls, smtpUrl } = options;
  const findings = await checkFolder(dataDir);
  if (findings.some(({ check, state }) => check === "folder" && state === "failed")) {
    return findings;
  }
  const postgres = await checkPostgres(dataDir, cloudMigrations.length, clock);
  const read = postgres?.read ?? sqliteSettings(dataDir);
  findings.push(
    ...postgres?.findings ?? [
      checkDatabase(dataDir, "cloud.db", cloudMigrations.length),
      checkDatabase(dataDir, "logs.db", logMigrations.length),
    ],
    ...await checkKeyFiles(dataDir),
    ...await checkKeyFits(dataDir, read, postgres ? "the database" : "cloud.db"),
    checkClock(dataDir, clock.now(), read),
    ...await checkArchive({
      dataDir,
      archived: postgres?.archived ?? sqliteArchive(dataDir),
      again: postgres?.archivedAgain ?? (() => readSqliteArchive(dataDir)),
      // Who has one has an id for it.
      objectStorage: options.objectStorage ??
        (read("storage_id") === undefined ? undefined : "unknown"),
    }, clock),
  );
  const publicUrl = options.publicUrl ?? read("public_url");
  if (tls && "unreadable" in tls) {
    findings.push(failed("tls", tls.unreadable, "give the user of serve the right to read it"));
  } else if (tls) findings.push(...checkTls(tls, publicUrl, clock.now()));
  findings.push(...await findAuthority(options, read, clock.now()));
  findings.push(
    smtpUrl === undefined
      ? skipped("smtp", "not checked", "where serve has a mail server, give it as --smtp-url, too")
      : await checkSmtp(smtpUrl),
  );
  if (publicUrl !== undefined) {
    findings.push(...await checkPublicUrl(publicUrl, () => clock.now()));
  }
  return findings;
}

/** What issues certificates is made at the first need. */
async function findAuthority(
  { dataDir, authority }: DoctorOptions,
  read: (name: string) => string | undefined,
  now: Date,
): Promise<Finding[]> {
  const path = authority ?? join(dataDir, AUTHORITY_FILE);
  try {
    if (authority !== undefined || existsSync(path)) {
      return [checkAuthority(await Deno.readTextFile(path), now)];
    }
    const sealed = read("authority");
    if (sealed === undefined || !existsSync(join(dataDir, "cloud.key"))) return [];
    const { secrets } = await loadOrCreateKeys(dataDir, systemRandom);
    const pem = openText(secrets.authorityKey(), sealed);
    return pem === undefined ? [] : [checkAuthority(pem, now)];
  } catch (error) {
    const advice = "give the user of serve the right to read it";
    return [failed("authority", (error as Error).message, advice)];
  }
}

/** One line for each, with what to do below. */
export function renderFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, state, detail, advice }) => {
    const line = `${state.padEnd(7)}  ${check.padEnd(width)}  ${detail}`;
    return advice === undefined ? [line] : [line, `${" ".repeat(11 + width)}→ ${advice}`];
  });
  return `${lines.join("\n")}\n`;
}
