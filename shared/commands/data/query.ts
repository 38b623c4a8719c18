import { deserialize, EJSON, serialize } from "bson";
import { toError } from "../../base/errors/to_error.ts";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import { DataService } from "../../gen/viam/app/data/v1/data_pb.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { clientOf, type CommandContext, type Output } from "../run/command.ts";
import type { queryFlags } from "./data_flags.ts";

/** Prints what comes out of a query: a line of JSON for each row. */
export async function query(
  { mql }: FlagValues<typeof queryFlags>,
  text: string,
  context: CommandContext,
): Promise<Output> {
  const asked = text === "-" ? await new Response(Deno.stdin.readable).text() : text;
  const mqlBinary = mql ? stagesOf(asked) : undefined;
  const { id: organizationId } = await chooseOrganization(context);
  const client = await clientOf(context, DataService);
  const { rawData } = mqlBinary
    ? await client.tabularDataByMQL({ organizationId, mqlBinary })
    : await client.tabularDataBySQL({ organizationId, sqlQuery: asked });
  const rows = rawData.map((bytes) => JSON.parse(EJSON.stringify(deserialize(bytes))) as unknown);
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  if (rows.length === 0) context.warn("no rows");
  return { json: rows, text: lines.join("") };
}

/** The stages of a query as the API takes them. @throws {UsageError} */
function stagesOf(text: string): Uint8Array<ArrayBuffer>[] {
  let stages: unknown;
  try {
    stages = EJSON.parse(text);
  } catch (error) {
    throw new UsageError(`QUERY is no JSON: ${toError(error).message}`, { cause: error });
  }
  const list: readonly unknown[] = Array.isArray(stages) ? stages : [stages];
  return list.map((stage, at) => {
    if (typeof stage === "object" && stage !== null && !Array.isArray(stage)) {
      return new Uint8Array(serialize(stage));
    }
    throw new UsageError(`QUERY: stage ${at + 1} is no object; write [{"$match": …}, …]`);
  });
}
