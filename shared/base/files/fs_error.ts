import { toError } from "../errors/to_error.ts";

/** A file operation the operating system refused; `code` is the POSIX name ("ENOSPC"). */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly code: string;
  readonly path: string;

  constructor(message: string, code: string, path: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
    this.path = path;
  }
}

// What is wrong and what to do, by POSIX error name.
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full; free some space",
  EDQUOT: "the disk quota is used up; free some space or raise the quota",
  EACCES: "permission denied; run as the user who owns it or change its permissions",
  EPERM: "not permitted; run as the user who owns it or change its permissions",
  EROFS: "the file system is read-only; mount it read-write or use another folder",
  ENOENT: "it or its folder does not exist",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder, a file is needed",
  EEXIST: "it exists already",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "too many symbolic links",
  EMFILE: "too many open files; raise the limit (ulimit -n)",
  ENFILE: "too many open files on this host",
  EIO: "the disk reports an error; check it",
  EBUSY: "it is in use by another program",
  ETXTBSY: "it is a program that is running",
  EXDEV: "it lies on another file system",
};

/** The POSIX name of a file system error ("ENOENT"), or undefined when it is something else. */
export function fsErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as Error & { code?: unknown }).code;
  return typeof code === "string" ? code : undefined;
}

/**
 * One line for the operator: what was tried, on which path, why it failed, what to do.
 *
 * @param action in the form "write" or "read the credentials file".
 */
export function describeFsError(error: unknown, action: string, path: string): string {
  const code = fsErrorCode(error);
  const advice = code === undefined ? undefined : ADVICE[code];
  const reason = advice === undefined ? firstLine(error) : `${advice} (${code})`;
  return `cannot ${action} ${path}: ${reason}`;
}

/** The same as an error that keeps its cause. */
export function toFileError(error: unknown, action: string, path: string): FileError {
  const code = fsErrorCode(error) ?? "UNKNOWN";
  return new FileError(describeFsError(error, action, path), code, path, error);
}

function firstLine(error: unknown): string {
  const text = toError(error).message;
  return text.split("\n", 1)[0] ?? text;
}
