import { ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";

/** Why something failed, for log and status: without the code in front and empty notes behind. */
export function reasonOf(thrown: unknown): string {
  const message = thrown instanceof ConnectError ? thrown.rawMessage : toError(thrown).message;
  return message.replace(/[\s.]*Resolution note:\s*$/, "");
}
