import { Code } from "@connectrpc/connect";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Entries of a list in a request that are taken, where the list has no bound of its own. */
const MOST_ENTRIES = 1_000;

/**
 * Refuses a list that is too long for one statement of the database, or to be gone through in one
 * go.
 *
 * @param field its name, as callers write it: `filter.mime_type`.
 *
 * @throws {ConnectError} INVALID_ARGUMENT
 */
export function requireFew(field: string, list: readonly unknown[] | undefined): void {
  if (list === undefined || list.length <= MOST_ENTRIES) return;
  throw refusal(
    "TOO_MANY",
    { most: MOST_ENTRIES },
    `${field}: there are more than ${MOST_ENTRIES}`,
    Code.InvalidArgument,
  );
}
