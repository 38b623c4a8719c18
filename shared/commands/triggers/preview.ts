import { Code, ConnectError } from "@connectrpc/connect";
import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import {
  type Comparison,
  type PastFirings,
  type PreviewedReading,
  PreviewTriggerResponseSchema,
  TriggerService,
} from "../../gen/machine/cloud/v1/triggers_pb.ts";
import { choosePart } from "../choice/part.ts";
import { counted } from "../output/amounts.ts";
import { textTable } from "../output/text_table.ts";
import { timeText } from "../output/times.ts";
import { clientOf, type CommandContext, type Output } from "../run/command.ts";
import { readTrigger } from "./read_trigger.ts";
import { chooseTrigger } from "./trigger_choice.ts";
import type { previewFlags } from "./trigger_flags.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Compares a condition, saved or of a file, with past readings; notifies nobody.
 *
 * @throws {UsageError} for both or none of a name and `--file`
 */
export async function previewTrigger(
  context: CommandContext,
  flags: FlagValues<typeof previewFlags>,
  name: string,
): Promise<Output> {
  const client = await clientOf(context, TriggerService);
  const { days, limit } = flags;
  const since = timestampFromMs(context.clock.now().getTime() - days * DAY_MS);
  const wanted = await wantedTrigger(context, flags, name);
  const answer = await client.previewTrigger({ ...wanted, limit, since }).catch((error) =>
    explain(error, context)
  );
  return {
    json: toJson(PreviewTriggerResponseSchema, answer),
    text: previewText(answer, days),
  };
}

async function wantedTrigger(
  context: CommandContext,
  flags: FlagValues<typeof previewFlags>,
  name: string,
) {
  const { file } = flags;
  if (file === undefined) {
    if (name === "") throw new UsageError("NAME is missing; or give --file FILE with a trigger");
    const { partId } = await chooseTrigger(context, flags, name);
    return { partId, name };
  }
  if (name !== "") throw new UsageError("NAME and --file do not go together; give one of them");
  const trigger = await readTrigger(file);
  return { partId: (await choosePart(context, flags)).id, trigger };
}

function explain(error: unknown, { commandLine }: CommandContext): never {
  if (!(error instanceof ConnectError) || error.code !== Code.FailedPrecondition) throw error;
  throw new ConnectError(
    `${error.rawMessage}; ${commandLine("trigger test")} sends a sample of the others`,
    error.code,
    error.metadata,
    undefined,
    error,
  );
}

/** How often it would have fired, and the newest readings with what was compared. */
function previewText(
  { readings, past }: {
    readonly readings: readonly PreviewedReading[];
    readonly past?: PastFirings | undefined;
  },
  days: number,
): string {
  const heading = ["RECEIVED", "HOLDS", "COMPARED"];
  const rows = readings.map(({ receivedAt, holds, comparisons }) => [
    timeText(receivedAt),
    holds ? "yes" : "no",
    comparisons.map(comparisonText).join("; "),
  ]);
  const table = rows.length === 0 ? "" : `\n${textTable([heading, ...rows])}`;
  return `${past ? pastText(past, days) : ""}${table}`;
}

function pastText(past: PastFirings, days: number): string {
  const span = `the last ${days === 1 ? "day" : `${days} days`}`;
  const { fired, uploads, readings, incomparable, complete, oldest } = past;
  if (readings === 0n) {
    return `no readings of ${span} that it would look at; check its conditional\n`;
  }
  const odd = incomparable > 0n ? `; ${incomparable} of them cannot be compared` : "";
  const times = fired === 1n ? "once" : `${fired} times`;
  return `would have fired ${times} in ${span}: ${counted(uploads, "upload")} with ${
    counted(readings, "reading")
  }` +
    `${odd}${complete ? "" : partly(oldest)}\n`;
}

function partly(oldest: Timestamp | undefined): string {
  return `\nonly the newest were looked at, since ${timeText(oldest)}: there are too many`;
}

function comparisonText({ path, operator, expected, found, problem }: Comparison): string {
  const json = (value: typeof found): JsonValue => value ? toJson(ValueSchema, value) : "nothing";
  const compared = `${path || "the reading"} ${JSON.stringify(json(found))} ${operator} ` +
    JSON.stringify(json(expected));
  return problem === "" ? compared : `${compared} (${problem})`;
}
