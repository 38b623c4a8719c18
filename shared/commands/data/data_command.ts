import { toJson } from "@bufbuild/protobuf";
import type { FlagValues } from "../../base/flags/flags.ts";
import { UsageError } from "../../base/flags/flags.ts";
import {
  type DataSource,
  DataSourceSchema,
  StoredDataService,
} from "../../gen/machine/cloud/v1/data_pb.ts";
import { DataService } from "../../gen/viam/app/data/v1/data_pb.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { findPart, isOneOf } from "../choice/part.ts";
import { bodyOf, saveAnswer } from "../download/save_answer.ts";
import { textTable } from "../output/text_table.ts";
import { timeText } from "../output/times.ts";
import {
  clientOf,
  type CommandContext,
  type CommandOf,
  done,
  type Output,
} from "../run/command.ts";
import type {
  dataCommands,
  deleteReadingsFlags,
  exportFlags,
  settingsFlags,
  sourcesFlags,
} from "./data_flags.ts";
import { deleteFiles, downloadFiles, listFiles } from "./file_commands.ts";
import { query } from "./query.ts";
import { timeOf } from "./times.ts";

/** One of the commands about captured data, as the command line requests it. */
export type DataCommand = CommandOf<typeof dataCommands>;

/** Does what the command line requests. */
export async function runDataCommand(
  parsed: DataCommand,
  context: CommandContext,
): Promise<Output | void> {
  const [argument = ""] = parsed.arguments;
  switch (parsed.command) {
    case "data sources":
      return await listSources(parsed.values, context);
    case "data export":
      return await exportReadings(parsed.values, context);
    case "data query":
      return await query(parsed.values, argument, context);
    case "data files":
      return await listFiles(parsed.values, context);
    case "data download":
      return await downloadFiles(parsed.values, argument, context);
    case "data delete-files":
      return await deleteFiles(parsed.values, context);
    case "data delete-readings":
      return await deleteReadings(parsed.values, context);
    case "data settings":
      return await settings(parsed.values, context);
  }
}

async function listSources(
  flags: FlagValues<typeof sourcesFlags>,
  context: CommandContext,
): Promise<Output> {
  const sources = await sourcesOf(context, flags.part);
  const rows = sources.map((source) => [
    source.machineName,
    source.partName,
    source.resourceName,
    source.resourceSubtype,
    source.methodName,
    timeText(source.firstReading),
    timeText(source.lastReading),
  ]);
  const heading = ["MACHINE", "PART", "RESOURCE", "TYPE", "METHOD", "FIRST", "LAST"];
  const text = rows.length === 0
    ? "no data was captured\n"
    : textTable([heading, ...rows], context.terminal.columns);
  return { json: sources.map((source) => toJson(DataSourceSchema, source)), text };
}

async function sourcesOf(context: CommandContext, part: string | undefined) {
  const { sources } = await (await clientOf(context, StoredDataService)).listDataSources({});
  const named = sources.filter(({ partId, partName }) => isOneOf(part, partId, partName));
  if (part === undefined || named.length > 0) return named;
  // Another way to say it, a part that has captured nothing, or none at all.
  const { id } = await findPart(context, part);
  return sources.filter(({ partId }) => partId === id);
}

async function exportReadings(
  flags: FlagValues<typeof exportFlags>,
  context: CommandContext,
): Promise<Output | void> {
  const [from, to] = [timeOf("--from", flags.from), timeOf("--to", flags.to)];
  const source = await chooseSource(context, flags);
  const answer = await (await context.cloud()).download("data/export", {
    part_id: source.partId,
    resource_name: source.resourceName,
    resource_subtype: source.resourceSubtype,
    method_name: source.methodName,
    start: from?.toISOString() ?? "",
    end: to?.toISOString() ?? "",
    format: flags.format,
  });
  if (flags.out === undefined) {
    for await (const piece of await bodyOf(answer)) await context.write(piece);
    return;
  }
  const bytes = await saveAnswer(context, answer, flags.out);
  return done({ file: flags.out, bytes }, `${bytes} bytes in ${flags.out}`);
}

/** The one source that the flags name; the part is needed where several have such a resource. */
async function chooseSource(
  context: CommandContext,
  flags: FlagValues<typeof exportFlags>,
): Promise<DataSource> {
  const there = await sourcesOf(context, flags.part);
  const fitting = there.filter((source) =>
    source.resourceName === flags.resource && source.methodName === flags.method
  );
  const [first] = fitting;
  if (!first) {
    const known = there.map(({ resourceName, methodName }) => `${resourceName} ${methodName}`);
    throw new UsageError(
      `no ${flags.method} of ${JSON.stringify(flags.resource)} was captured; there is ` +
        (known.length === 0 ? "no data" : [...new Set(known)].join(", ")),
    );
  }
  if (new Set(fitting.map(({ partId }) => partId)).size === 1) return first;
  const parts = [...new Set(fitting.map(({ partName, partId }) => `${partName} (${partId})`))];
  throw new UsageError(`several parts have it; name one with --part: ${parts.join(", ")}`);
}

async function deleteReadings(
  flags: FlagValues<typeof deleteReadingsFlags>,
  context: CommandContext,
): Promise<Output> {
  const days = flags["older-than-days"];
  if (!flags.yes) {
    throw new UsageError(
      `this deletes all readings that fit and are older than ${days} days permanently; confirm with ` +
        "--yes",
    );
  }
  const { id: organizationId } = await chooseOrganization(context);
  const partId = flags.part === undefined ? "" : await partIdOf(context, flags.part);
  const client = await clientOf(context, DataService);
  const { deletedCount } = await client.deleteTabularData({
    organizationId,
    deleteOlderThanDays: days,
    filter: { partId, componentName: flags.resource ?? "" },
  });
  return done({ deleted: Number(deletedCount) }, `deleted ${deletedCount} readings`);
}

async function partIdOf(context: CommandContext, wanted: string): Promise<string> {
  const [source] = await sourcesOf(context, wanted);
  if (source) return source.partId;
  throw new UsageError(`--part: no part ${JSON.stringify(wanted)} has captured anything`);
}

async function settings(
  flags: FlagValues<typeof settingsFlags>,
  context: CommandContext,
): Promise<Output> {
  const { id: organizationId } = await chooseOrganization(context);
  const stored = await clientOf(context, StoredDataService);
  const before = (await stored.getDataSettings({ organizationId })).settings;
  const retentionDays = numberOf("--retention-days", flags["retention-days"], "forever");
  const quotaMib = numberOf("--quota-mib", flags["quota-mib"], "none");
  const archiveDays = numberOf("--archive-after-days", flags["archive-after-days"], "never");
  if (retentionDays !== undefined || quotaMib !== undefined || archiveDays !== undefined) {
    const archive = archiveDays === undefined ? before?.archiveAfterDays : archiveDays ?? undefined;
    const days = retentionDays === undefined ? before?.retentionDays : retentionDays ?? undefined;
    const bytes = quotaMib === undefined
      ? before?.quotaBytes
      : quotaMib === null
      ? undefined
      : BigInt(quotaMib) * 1_048_576n;
    await stored.setDataSettings({
      organizationId,
      settings: {
        ...(days === undefined ? {} : { retentionDays: days }),
        ...(bytes === undefined ? {} : { quotaBytes: bytes }),
        ...(archive === undefined ? {} : { archiveAfterDays: archive }),
      },
    });
  }
  const { settings, usage } = await stored.getDataSettings({ organizationId });
  const days = settings?.retentionDays;
  const quota = settings?.quotaBytes;
  const archived = settings?.archiveAfterDays;
  const text = textTable([
    ["kept for", days === undefined ? "ever" : `${days} days`],
    ["quota", quota === undefined ? "none" : `${mib(quota)} MiB`],
    ["readings", `${usage?.readings ?? 0n}, ${mib(usage?.readingBytes ?? 0n)} MiB`],
    ["files", `${usage?.files ?? 0n}, ${mib(usage?.fileBytes ?? 0n)} MiB`],
    ["old readings", archived === undefined ? "stay" : `to files after ${archived} days`],
  ]);
  const json = {
    retention_days: days ?? null,
    archive_after_days: archived ?? null,
    quota_bytes: quota === undefined ? null : Number(quota),
    readings: Number(usage?.readings ?? 0n),
    reading_bytes: Number(usage?.readingBytes ?? 0n),
    files: Number(usage?.files ?? 0n),
    file_bytes: Number(usage?.fileBytes ?? 0n),
  };
  return { json, text };
}

/** Undefined: leave it; null: the word that takes the limit away. */
function numberOf(flag: string, text: string | undefined, none: string): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === none) return null;
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new UsageError(`${flag}: ${JSON.stringify(text)} is neither a number nor ${none}`);
}

function mib(bytes: bigint): string {
  return (Number(bytes) / 1_048_576).toFixed(1);
}
