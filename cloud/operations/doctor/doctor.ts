import type { Clock } from "../../../shared/base/time/clock.ts";
import { logMigrations } from "../../fleet/logs/log_migrations.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import type { TlsPair } from "../tls/pair.ts";
import type { S3Settings } from "../../storage/blobs/s3_settings.ts";
import { checkArchive, sqliteArchive } from "./archive_checks.ts";
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
import { checkPublicUrl, checkSmtp, checkTls } from "./network_checks.ts";

export interface DoctorOptions {
  readonly dataDir: string;
  /** Left out: where the cloud served last. */
  readonly publicUrl?: string | undefined;
  /** The certificate of the cloud, or why it cannot be read. */
  readonly tls?: TlsPair | { readonly unreadable: string } | undefined;
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
      // Who has one has an id for it.
      objectStorage: options.objectStorage ??
        (read("storage_id") === undefined ? undefined : "unknown"),
    }, clock),
  );
  const publicUrl = options.publicUrl ?? read("public_url");
  if (tls && "unreadable" in tls) {
    findings.push(failed("tls", tls.unreadable, "give the user of serve the right to read it"));
  } else if (tls) findings.push(...checkTls(tls, publicUrl, clock.now()));
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

/** One line for each, with what to do below. */
export function renderFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, state, detail, advice }) => {
    const line = `${state.padEnd(7)}  ${check.padEnd(width)}  ${detail}`;
    return advice === undefined ? [line] : [line, `${" ".repeat(11 + width)}→ ${advice}`];
  });
  return `${lines.join("\n")}\n`;
}
