import type { HandlerContext } from "@connectrpc/connect";
import { CLIENT_HEADER } from "../../../shared/cloud/client/connection.ts";
import type { SavedHow } from "../../storage/database/schema.ts";

/**
 * By what a call saves, as history shows it: what the caller declares, so for people, not for
 * proof.
 */
export function savedHow(context: Pick<HandlerContext, "requestHeader">): SavedHow {
  const client = context.requestHeader.get(CLIENT_HEADER);
  return client === "console" || client === "cli" ? client : "api";
}
