/** Why a file could not be brought here, and when another attempt may help. */
import { fsErrorCode, toFileError } from "../../base/files/fs_error.ts";

/**
 * - `unreachable`: the way to it is cut; may be repaired any moment. What was received is kept.
 * - `refused`: what was received, or the answer, is wrong. Nothing of it is kept.
 * - `no-room`: this host cannot take it. What was received is kept.
 */
export type TransferErrorKind = "unreachable" | "refused" | "no-room";

/** The message says what was wrong and what to do, and holds no secret. */
export class TransferError extends Error {
  override readonly name = "TransferError";
  readonly kind: TransferErrorKind;
  /** Of the server's answer, where that is what was wrong. */
  readonly status: number | undefined;

  constructor(kind: TransferErrorKind, message: string, cause?: unknown, status?: number) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.status = status;
  }
}

/** Whatever was thrown while `action` was done to `path`. */
export function toTransferError(thrown: unknown, action: string, path: string): TransferError {
  if (thrown instanceof TransferError) return thrown;
  if (fsErrorCode(thrown) === undefined && thrown instanceof Error) {
    return new TransferError("unreachable", `cannot ${action}: ${thrown.message}`, thrown);
  }
  return new TransferError("no-room", toFileError(thrown, action, path).message, thrown);
}
