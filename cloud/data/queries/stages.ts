import { Code } from "@connectrpc/connect";
import { invalid, tooLong } from "../ingest/capture.ts";
import { LONGEST_QUERY } from "./query_form.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

const MOST_STAGES = 100;

/**
 * The stages of a pipeline in base64.
 *
 * @throws {ConnectError} INVALID_ARGUMENT when there are none, or too many.
 */
export function readStages(mqlBinary: readonly Uint8Array[]): string[] {
  if (mqlBinary.length === 0) {
    throw refusal(
      "MISSING",
      { field: "mql_binary" },
      "mql_binary: there is no stage",
      Code.InvalidArgument,
    );
  }
  if (mqlBinary.length > MOST_STAGES) {
    throw invalid("mql_binary", `there are more than ${MOST_STAGES} stages`);
  }
  const length = mqlBinary.reduce((sum, stage) => sum + stage.length, 0);
  if (length > LONGEST_QUERY) {
    throw tooLong("mql_binary", LONGEST_QUERY, "bytes");
  }
  return mqlBinary.map((stage) => stage.toBase64());
}
