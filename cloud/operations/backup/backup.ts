import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { versionText } from "../../../shared/base/build_info/build_info.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { AUTHORITY_FILE, databaseAddress } from "../../storage/data_folder/database_choice.ts";
import { lockFolder } from "../../storage/data_folder/serve_lock.ts";
import { ABOUT_ENTRY, BackupError, BackupWriter } from "./archive.ts";
import { copyOfFolder, copyOfPostgres } from "./copied_rows.ts";
import { Leftovers, remove, removeCopies } from "./leftovers.ts";
import { type CopyRows, schemaVersion, takeSnapshot } from "./snapshot.ts";

export interface BackupResult {
  /** Absolute. */
  readonly file: string;
  /** Files and databases in it. */
  readonly files: number;
  /** Bytes of these. */
  readonly bytes: number;
  /** Files that the database names and that were not in the folder. */
  readonly elsewhere: number;
  /** Those are in an object storage; else they are lost. */
  readonly hasObjectStorage: boolean;
}

/** Below the data folder, for second names of files; what a killed backup left is removed. */
const STAGING = ".backup";

export interface BackupDeps {
  readonly clock: Clock;
  /** Says what does not keep the backup from being made. */
  readonly warn?: (text: string) => void;
}

/**
 * Writes a backup of a cloud, also of one that is being served: everything in it is of one moment.
 * It has the same form whichever engine keeps the rows. The file appears when it is whole and on the disk; one that is there is replaced.
 *
 * @throws {BackupError}, {DataFolderInUseError}, {StoreError} or {FileError}, each with one line for the operator.
 */
export async function backUp(
  dataDir: string,
  file: string,
  { clock, warn = () => undefined }: BackupDeps,
): Promise<BackupResult> {
  const address = databaseAddress(dataDir);
  if (address === undefined && !existsSync(join(dataDir, "cloud.db"))) {
    throw new BackupError(
      `${dataDir} is no data folder of machine-cloud: it has no cloud.db. Name the folder that ` +
        "serve uses with --data",
    );
  }
  const target = resolve(file);
  const inFolder = `${resolve(dataDir)}/`;
  if (target.startsWith(inFolder)) {
    throw new BackupError(
      `${file} is within the data folder, and would be part of the next backup; write it ` +
        "elsewhere, best onto another disk",
    );
  }
  using _lock = await lockFolder(
    dataDir,
    "backup.lock",
    `another backup of ${dataDir} is being made; wait until it is complete`,
  );
  const staging = join(dataDir, STAGING);
  const unfinished = join(dirname(target), `.${basename(target)}.unfinished`);
  const leftovers = await Leftovers.open(dataDir);
  try {
    await leftovers.clear(warn);
    await leftovers.add(unfinished);
    await remove(staging);
    await Deno.mkdir(staging, { mode: 0o700 });
    const copy = address === undefined
      ? copyOfFolder(dataDir, unfinished)
      : copyOfPostgres(dataDir, address, `${unfinished}.rows`, clock);
    return await write(dataDir, { target, unfinished, staging, copy, clock });
  } catch (error) {
    if (fsErrorCode(error) === undefined) throw error;
    throw toFileError(error, "write the backup", target);
  } finally {
    await removeCopies(unfinished);
    await remove(staging);
    await leftovers.end();
  }
}

async function write(
  dataDir: string,
  { target, unfinished, staging, copy, clock }: {
    target: string;
    unfinished: string;
    staging: string;
    copy: CopyRows;
    clock: Clock;
  },
): Promise<BackupResult> {
  const now = clock.now();
  const snapshot = await takeSnapshot(dataDir, staging, copy);
  const { cloud, logs, authority } = snapshot.rows;
  faultPoint("backup.snapshot.taken");
  const file = await Deno.open(unfinished, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o600,
  });
  try {
    const writer = new BackupWriter(file, clock);
    const about = {
      format: 1,
      made_at: now.toISOString(),
      program: versionText("machine-cloud"),
      schema: {
        "cloud.db": schemaVersion(cloud),
        "logs.db": logs === undefined ? 0 : schemaVersion(logs),
      },
    };
    await writer.addText(ABOUT_ENTRY, `${JSON.stringify(about, null, 2)}\n`, now);
    await writer.addFile("cloud.db", cloud);
    if (logs !== undefined) await writer.addFile("logs.db", logs);
    if (authority !== undefined) await writer.addText(AUTHORITY_FILE, authority, now);
    for (const [path, from] of snapshot.files) {
      if (path === AUTHORITY_FILE && authority !== undefined) continue;
      await writer.addFile(path, from);
      faultPoint("backup.archive.entry");
    }
    await writer.finish(now);
    await file.sync();
    faultPoint("backup.archive.before-rename");
    await Deno.rename(unfinished, target);
    faultPoint("backup.archive.after-rename");
    await syncFolder(dirname(target));
    const { elsewhere, hasObjectStorage } = snapshot;
    // Without the entries about the backup itself.
    const files = writer.entries - 2;
    return { file: target, files, bytes: writer.bytes, elsewhere, hasObjectStorage };
  } finally {
    file.close();
  }
}
