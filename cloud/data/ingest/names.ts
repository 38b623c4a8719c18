import { Code } from "@connectrpc/connect";
import { refusal } from "../../../shared/rpc/reasons.ts";

const LONGEST_NAME = 200;

/**
 * The name that a caller gives to a dataset, a saved query or a pipeline, without white space around
 * it.
 *
 * @throws {ConnectError} INVALID_ARGUMENT when it is empty or longer than 200 characters.
 */
export function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed !== "" && trimmed.length <= LONGEST_NAME) return trimmed;
  const problem = trimmed === "" ? "it is missing" : `it is longer than ${LONGEST_NAME} characters`;
  const values = { most: LONGEST_NAME };
  throw refusal("TITLE_INVALID", values, `name: ${problem}`, Code.InvalidArgument);
}
