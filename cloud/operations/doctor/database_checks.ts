/** What the doctor looks at where the database is not in the data folder. Nothing is changed. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import { databaseAddress } from "../../storage/data_folder/database_choice.ts";
import { failed, type Finding, ok, warning } from "./check.ts";

/** How the doctor reads what the cloud left in its table of settings. */
export type ReadSetting = (name: string) => string | undefined;

/** The database of a cloud on PostgreSQL; undefined: this one has SQLite in its folder. */
export async function checkPostgres(
  dataDir: string,
  known: number,
): Promise<{ readonly findings: Finding[]; readonly read: ReadSetting } | undefined> {
  const text = databaseAddress(dataDir);
  if (text === undefined) return undefined;
  const { parsePostgresAddress } = await import("../../storage/postgres/address.ts");
  const { inspectPostgres } = await import("../../storage/postgres/inspect.ts");
  try {
    const address = parsePostgresAddress(text, dataDir);
    const { schemaVersion, serverVersion, settings } = await inspectPostgres(address);
    const which = `${address.shown} (PostgreSQL ${serverVersion})`;
    return {
      findings: [versionFinding(which, schemaVersion, known)],
      read: (name) => settings.get(name),
    };
  } catch (error) {
    const advice = "machine-cloud cannot serve until this is corrected";
    return {
      findings: [failed("database", toError(error).message, advice)],
      read: () => undefined,
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
      "the next start of serve brings it up to date; make a backup with pg_dump before",
    );
  }
  return ok("database", `${which}, schema ${has}`);
}
