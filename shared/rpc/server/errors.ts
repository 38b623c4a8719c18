import { Code, ConnectError } from "@connectrpc/connect";
import { refusal } from "../reasons.ts";

/** Receives errors that no handler meant for the caller. `id` also goes to the caller. */
export type UnexpectedErrorReporter = (error: unknown, path: string, id: string) => void;

/**
 * What a caller sees of a thrown value: a `ConnectError` as it is, an abort as its own reason, and
 * anything else as INTERNAL with an id under which the process's log holds the cause.
 */
export function toCallerError(
  error: unknown,
  path: string,
  report: UnexpectedErrorReporter,
): ConnectError {
  if (error instanceof ConnectError) return error;
  if (error instanceof DOMException && error.name === "AbortError") {
    return new ConnectError("the call was cancelled", Code.Canceled);
  }
  const id = crypto.randomUUID().slice(0, 8);
  report(error, path, id);
  return refusal("INTERNAL", { id }, `internal error; the log has it under ${id}`, Code.Internal);
}

/** The listening address is taken. */
export class PortInUseError extends Error {
  override name = "PortInUseError";

  constructor(readonly address: string, cause: unknown) {
    super(
      `cannot listen on ${address}: another program uses that port; stop it or choose another address`,
      { cause },
    );
  }
}
