/** Why a package is not there, and when another attempt may help. */
import {
  TransferError,
  type TransferErrorKind,
} from "../../../shared/transfer/download/transfer_error.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";

/**
 * As for transfers, and `impossible`: the configuration requests what cannot be; not tried again
 * until it changes.
 */
export type PackageErrorKind = TransferErrorKind | "impossible";

/** The message says what was wrong and what to do, and holds no secret. */
export class PackageError extends Error {
  override readonly name = "PackageError";
  readonly kind: PackageErrorKind;

  constructor(kind: PackageErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Whatever was thrown while `action` was done to `path`. */
export function toPackageError(thrown: unknown, action: string, path: string): PackageError {
  if (thrown instanceof PackageError) return thrown;
  if (thrown instanceof TransferError) {
    return new PackageError(thrown.kind, thrown.message, thrown.cause);
  }
  if (fsErrorCode(thrown) === undefined && thrown instanceof Error) {
    return new PackageError("unreachable", `cannot ${action}: ${thrown.message}`, thrown);
  }
  return new PackageError("no-room", toFileError(thrown, action, path).message, thrown);
}
