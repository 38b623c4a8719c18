import { ConnectError } from "@connectrpc/connect";

/** Whatever was thrown, as an error with a message that is not empty. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(String(thrown) || "unknown error");
}

/** Why a call to the cloud failed, for the log: without the code in front and empty notes behind. */
export function reasonOf(thrown: unknown): string {
  const message = thrown instanceof ConnectError ? thrown.rawMessage : toError(thrown).message;
  return message.replace(/[\s.]*Resolution note:\s*$/, "");
}
