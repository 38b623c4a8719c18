import { describeFsError, fsErrorCode } from "../files/fs_error.ts";

/** Why a database cannot be used. */
export type StoreErrorCode =
  | "newer-schema"
  | "changed-migration"
  | "foreign-database"
  | "corrupt"
  | "not-a-database"
  | "disk-full"
  | "read-only"
  | "permission-denied"
  | "busy"
  | "failed";

/** A database cannot be opened or used; the message says which, why and what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** Which database, for messages. */
export interface StoreLocation {
  /** What the product calls it: "server", "cloud". */
  name: string;
  path: string;
}

interface Reason {
  code: StoreErrorCode;
  text: string;
}

// By the longest matching prefix of SQLite's or the system's error name.
const REASONS: ReadonlyArray<readonly [prefix: string, reason: Reason]> = [
  ["SQLITE_NOTADB", {
    code: "not-a-database",
    text: "is not a SQLite database. Check the path, or move the file away to start afresh",
  }],
  ["SQLITE_CORRUPT", {
    code: "corrupt",
    text: "is damaged. Restore it from a backup, or move it away to start afresh",
  }],
  ["SQLITE_FULL", {
    code: "disk-full",
    text: "cannot be written: the disk is full. Free some space and start again",
  }],
  ["ENOSPC", {
    code: "disk-full",
    text: "cannot be written: the disk is full. Free some space and start again",
  }],
  ["SQLITE_IOERR", {
    code: "failed",
    text: "cannot be read or written: the disk reports an error. Check the disk",
  }],
  ["SQLITE_READONLY", {
    code: "read-only",
    text: "cannot be written: it or its folder is read-only. Change that or use another folder",
  }],
  ["EROFS", {
    code: "read-only",
    text: "cannot be written: the file system is read-only. Change that or use another folder",
  }],
  ["SQLITE_BUSY", {
    code: "busy",
    text: "is locked by another program. Stop that program and start again",
  }],
  ["SQLITE_LOCKED", {
    code: "busy",
    text: "is locked by another program. Stop that program and start again",
  }],
  ["SQLITE_CANTOPEN", {
    code: "permission-denied",
    text: "cannot be opened. Check that the folder exists and that this user may write to it",
  }],
  ["SQLITE_PERM", {
    code: "permission-denied",
    text: "cannot be opened: permission denied. Change the permissions or the user",
  }],
  ["EACCES", {
    code: "permission-denied",
    text: "cannot be opened: permission denied. Change the permissions or the user",
  }],
  ["EPERM", {
    code: "permission-denied",
    text: "cannot be opened: permission denied. Change the permissions or the user",
  }],
];

/** The same error in the product's words; a {@link StoreError} comes back as it is. */
export function toStoreError(error: unknown, at: StoreLocation): StoreError {
  if (error instanceof StoreError) return error;
  const sqliteOrOsCode = fsErrorCode(error) ?? "";
  const reason = REASONS.find(([prefix]) => sqliteOrOsCode.startsWith(prefix))?.[1];
  if (reason) return storeError(reason.code, reason.text, at, error);
  const text = describeFsError(error, `use the ${at.name} database`, at.path);
  return new StoreError("failed", text, error);
}

/** `The server database /x/server.db <text>.` */
export function storeError(
  code: StoreErrorCode,
  text: string,
  at: StoreLocation,
  cause?: unknown,
): StoreError {
  return new StoreError(code, `The ${at.name} database ${at.path} ${text}.`, cause);
}
