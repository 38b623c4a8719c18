import type { HandlerContext } from "@connectrpc/connect";
import type { SavedHow } from "../../storage/database/schema.ts";

/** Metadata by which our own programs say that a person saves with them. */
export const CLIENT_HEADER = "machine-client";

/** By what a call saves, as history tells it: what the caller says, so for people, not for proof. */
export function savedHow(context: Pick<HandlerContext, "requestHeader">): SavedHow {
  const client = context.requestHeader.get(CLIENT_HEADER);
  return client === "console" || client === "cli" ? client : "api";
}
