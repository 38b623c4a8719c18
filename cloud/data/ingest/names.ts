import { invalid } from "./capture.ts";

const LONGEST_NAME = 200;

/**
 * The name that a caller gives to a dataset, a saved query or a pipeline, without white space around
 * it.
 *
 * @throws {ConnectError} INVALID_ARGUMENT when it is empty or longer than 200 characters.
 */
export function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === "") throw invalid("name", "it is missing");
  if (trimmed.length <= LONGEST_NAME) return trimmed;
  throw invalid("name", `it is longer than ${LONGEST_NAME} characters`);
}
