import { constants, setPriority } from "node:os";
import { UsageError } from "../../shared/base/flags/flags.ts";
import type { ParsedCommand } from "../../shared/base/flags/flags.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { parsePublicUrl } from "../api/addresses/addresses.ts";
import { logMigrations } from "../fleet/logs/log_migrations.ts";
import { openDataFolder } from "../storage/data_folder/data_folder.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { cloudMigrations } from "../storage/database/migrations.ts";
import { backUp } from "./backup/backup.ts";
import { restore } from "./backup/restore.ts";
import { type DoctorOptions, examine, renderFindings } from "./doctor/doctor.ts";
import type { MoveDeps, MoveResult } from "./move/copy.ts";
import { askHealth } from "./readiness/health.ts";
import type { operationCommands } from "./operation_flags.ts";

type Parsed = Extract<
  ParsedCommand<typeof operationCommands>,
  { command: keyof typeof operationCommands }
>;

/** What to print, and the exit code. */
export interface CommandResult {
  readonly text: string;
  readonly code: 0 | 1;
}

interface CommandDeps {
  readonly clock: Clock;
  readonly warn: (text: string) => void;
}

/** Runs one of the commands for operators. */
export async function runOperationCommand(
  parsed: Parsed,
  deps: CommandDeps,
): Promise<CommandResult> {
  if (parsed.command === "health") return await askHealth(parsed.values.url);
  const { values } = parsed;
  if (parsed.command === "doctor") return await runDoctor(parsed.values, deps);
  if (parsed.command === "migrate") {
    const { data, to, json = false } = parsed.values;
    if (parsed.values["files-to"] !== undefined) return await moveLargeFiles(parsed.values, deps);
    if (to === undefined) return await bringUpToDate(data, json);
    const moved = await move(data, to, { clock: deps.clock, progress: deps.warn });
    const text = `Moved ${moved.rows} rows of ${moved.tables} tables to ${moved.database}, and ` +
      `compared them. The old ones are kept in ${moved.kept}. Serve with the same --data; it ` +
      "knows where they are.\n";
    return { text: json ? printed(moved) : text, code: 0 };
  }
  const [file = ""] = parsed.arguments;
  if (parsed.command === "backup") {
    yieldToServing();
    const result = await backUp(values.data, file, deps);
    const { files, bytes, elsewhere, hasObjectStorage } = result;
    if (elsewhere > 0) {
      deps.warn(
        hasObjectStorage
          ? `${elsewhere} files are in the object storage and not in this backup: keep versions ` +
            "of its objects, or copy them"
          : `${elsewhere} files that the database names are not in the data folder: they were ` +
            "lost before this backup",
      );
    }
    const text = `Wrote ${result.file}: ${count(files)}, ${size(bytes)}.\n`;
    return { text: values.json ? printed(result) : text, code: 0 };
  }
  return await runRestore(file, parsed.values, deps);
}

async function runRestore(
  file: string,
  values: Extract<Parsed, { command: "restore" }>["values"],
  { clock, warn }: CommandDeps,
): Promise<CommandResult> {
  const { data, database } = values;
  const { moveToPostgres, requireNoTables } = await import("./move/move_to_postgres.ts");
  if (database !== undefined) await requireNoTables(data, database);
  const known = { "cloud.db": cloudMigrations.length, "logs.db": logMigrations.length };
  const result = await restore(file, data, known);
  if (database !== undefined) {
    warn(`moving the rows; if that is cut, run: machine-cloud migrate --data ${data} --to URL`);
    const { kept } = await moveToPostgres(data, database, { clock, progress: warn });
    await Deno.remove(kept); // the backup has it
  }
  const text = `Restored ${data} as it was at ${result.madeAt}: ${count(result.files)}, ` +
    `${size(result.bytes)}. Start it with: machine-cloud serve --data ${data}\n`;
  return { text: values.json ? printed(result) : text, code: 0 };
}

async function moveLargeFiles(
  values: Extract<Parsed, { command: "migrate" }>["values"],
  deps: { readonly clock: Clock; readonly warn: (text: string) => void },
): Promise<CommandResult> {
  const { data, to, "files-to": place, "blob-store": store, remove = false, json } = values;
  if (place !== "objects" && place !== "folder") {
    throw new UsageError("--files-to: write objects, for the object storage, or folder");
  }
  if (to !== undefined) throw new UsageError("--to and --files-to do not go together; one by one");
  if (store === undefined) {
    throw new UsageError("--files-to needs the object storage; give --blob-store s3://BUCKET");
  }
  const { moveFiles } = await import("./move/move_files.ts");
  const objectStorage = await objectStorageOf(store);
  const moved = await moveFiles(
    data,
    { objectStorage, to: place, remove },
    { clock: deps.clock, progress: deps.warn },
  );
  const { files, bytes, copied, removed, from } = moved;
  const left = files === 0
    ? ""
    : remove
    ? `${removed} were compared again and removed from ${from}.`
    : `They are still in ${from}, too: run it with --remove to remove them there.`;
  const text = `${moved.to} has ${count(files)} of ${from}, ${size(bytes)}, compared by SHA-256; ` +
    `${copied} of them were copied now. ${left}`.trimEnd() + "\n";
  return { text: json ? printed(moved) : text, code: 0 };
}

async function objectStorageOf(store: string) {
  const { readS3Settings } = await import("../storage/blobs/s3_settings.ts");
  return readS3Settings(store, (name) => Deno.env.get(name));
}

async function move(data: string, to: string, deps: MoveDeps): Promise<MoveResult> {
  if (to !== "sqlite") {
    const { moveToPostgres } = await import("./move/move_to_postgres.ts");
    return await moveToPostgres(data, to, deps);
  }
  const { moveToSqlite } = await import("./move/move_to_sqlite.ts");
  return await moveToSqlite(data, deps);
}

async function bringUpToDate(dataDir: string, json: boolean): Promise<CommandResult> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  await database.close();
  const schema = cloudMigrations.length;
  const text = `The tables of ${dataDir} are up to date: schema ${schema}.\n`;
  return { text: json ? printed({ schema }) : text, code: 0 };
}

async function runDoctor(
  flags: Extract<Parsed, { command: "doctor" }>["values"],
  { clock }: { readonly clock: Clock },
): Promise<CommandResult> {
  const { "public-url": url, "blob-store": store } = flags;
  const findings = await examine({
    dataDir: flags.data,
    publicUrl: url === undefined ? undefined : parsePublicUrl(url),
    tls: await tlsOf(flags["tls-cert"], flags["tls-key"]),
    authority: flags["ca-cert"],
    smtpUrl: flags["smtp-url"],
    objectStorage: store === undefined ? undefined : await objectStorageOf(store),
  }, clock);
  const code = findings.some(({ state }) => state === "failed") ? 1 : 0;
  return { text: flags.json ? printed({ findings }) : renderFindings(findings), code };
}

async function tlsOf(
  cert: string | undefined,
  key: string | undefined,
): Promise<DoctorOptions["tls"]> {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw new UsageError("--tls-cert and --tls-key go together; give both or none");
  }
  try {
    return { cert: await Deno.readTextFile(cert), key: await Deno.readTextFile(key) };
  } catch (error) {
    return { unreadable: (error as Error).message };
  }
}

function printed(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function count(files: number): string {
  return files === 1 ? "1 file" : `${files} files`;
}

function size(bytes: number): string {
  const mib = bytes / 1024 ** 2;
  return mib < 1024 ? `${mib.toFixed(1)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** Whoever is served comes first; where the system does not allow it, all continues as it is. */
function yieldToServing(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some containers forbid it.
  }
}
