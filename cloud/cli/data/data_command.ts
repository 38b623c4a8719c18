import { type Timestamp, timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { dirname } from "node:path";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import {
  type FlagValues,
  type ParsedCommand,
  UsageError,
} from "../../../shared/base/flags/flags.ts";
import type { DataSource } from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { isSameType, readSpan, type TimeSpan } from "../../data/ingest/filters.ts";
import { withAdvice } from "../../local/connection/cloud_connection.ts";
import { withPlainFailures } from "../../local/connection/plain_failures.ts";
import { readPlace } from "../../local/connection/place_flags.ts";
import { textTable } from "../../../shared/commands/output/text_table.ts";
import { connectToData, type DataConnection, type DataDeps } from "./data_connection.ts";
import type { dataCommands, exportFlags, settingsFlags, sourcesFlags } from "./data_flags.ts";

/** One of the commands about captured data, as the command line asks for it. */
export type DataCommand = Extract<
  ParsedCommand<typeof dataCommands>,
  { readonly command: keyof typeof dataCommands }
>;

/** What a command works with besides the network and files. */
export interface DataCommandDeps extends DataDeps {
  /** Writes to standard output. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

/** Does what the command line asks for and gives back what to print after it. */
export async function runDataCommand(parsed: DataCommand, deps: DataCommandDeps): Promise<string> {
  const place = readPlace(parsed.values);
  return await withPlainFailures(async () => {
    await using data = await connectToData(place, parsed.values.org, deps);
    try {
      switch (parsed.command) {
        case "data sources":
          return await listSources(data, parsed.values);
        case "data export":
          return await exportReadings(data, parsed.values, deps);
        case "data settings":
          return await settings(data, parsed.values);
      }
    } catch (error) {
      throw data.url === undefined ? error : withAdvice(error, data.url);
    }
  });
}

async function listSources(
  data: DataConnection,
  flags: FlagValues<typeof sourcesFlags>,
): Promise<string> {
  const { sources } = await data.stored.listDataSources({});
  const rows = sources.filter((source) => isPart(source, flags.part)).map((source) => [
    source.machineName,
    source.partName,
    source.resourceName,
    source.resourceSubtype,
    source.methodName,
    timeText(source.firstReading),
    timeText(source.lastReading),
  ]);
  if (rows.length === 0) return "no data was captured\n";
  return textTable([["MACHINE", "PART", "RESOURCE", "TYPE", "METHOD", "FIRST", "LAST"], ...rows]);
}

async function exportReadings(
  data: DataConnection,
  flags: FlagValues<typeof exportFlags>,
  deps: DataCommandDeps,
): Promise<string> {
  const span = spanOf(flags);
  const source = await chooseSource(data, flags);
  const pieces = data.export(source, span, flags.format);
  if (flags.out === undefined) {
    for await (const piece of pieces) await deps.write(piece);
    return "";
  }
  const bytes = await writeFile(flags.out, pieces, deps);
  return `${bytes} bytes in ${flags.out}\n`;
}

/** The one source that the flags name; the part is needed where several have such a resource. */
async function chooseSource(
  data: DataConnection,
  flags: FlagValues<typeof exportFlags>,
): Promise<DataSource> {
  const { sources } = await data.stored.listDataSources({});
  const there = sources.filter((source) => isPart(source, flags.part));
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
  const isOne = fitting.every((source) =>
    source.partId === first.partId && isSameType(source.resourceSubtype, first.resourceSubtype)
  );
  if (isOne) return first;
  const parts = [...new Set(fitting.map(({ partName, partId }) => `${partName} (${partId})`))];
  throw new UsageError(`several parts have it; name one with --part: ${parts.join(", ")}`);
}

async function settings(
  data: DataConnection,
  flags: FlagValues<typeof settingsFlags>,
): Promise<string> {
  const { organizationId, stored } = data;
  const before = (await stored.getDataSettings({ organizationId })).settings;
  const retentionDays = numberOf("--retention-days", flags["retention-days"], "forever");
  const quotaMib = numberOf("--quota-mib", flags["quota-mib"], "none");
  if (retentionDays !== undefined || quotaMib !== undefined) {
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
      },
    });
  }
  const { settings, usage } = await stored.getDataSettings({ organizationId });
  const days = settings?.retentionDays;
  const quota = settings?.quotaBytes;
  return textTable([
    ["kept for", days === undefined ? "ever" : `${days} days`],
    ["quota", quota === undefined ? "none" : `${mib(quota)} MiB`],
    ["readings", `${usage?.readings ?? 0n}, ${mib(usage?.readingBytes ?? 0n)} MiB`],
    ["files", `${usage?.files ?? 0n}, ${mib(usage?.fileBytes ?? 0n)} MiB`],
  ]);
}

/** Undefined: leave it; null: the word that takes the limit away. */
function numberOf(flag: string, text: string | undefined, none: string): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === none) return null;
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new UsageError(`${flag}: ${JSON.stringify(text)} is neither a number nor ${none}`);
}

function spanOf(flags: FlagValues<typeof exportFlags>): TimeSpan {
  const read = (flag: string, text: string | undefined) => {
    if (text === undefined) return undefined;
    const date = new Date(text);
    if (!Number.isNaN(date.getTime())) return timestampFromDate(date);
    throw new UsageError(
      `${flag}: ${JSON.stringify(text)} is no time; write 2026-01-02 or 2026-01-02T03:04:05Z`,
    );
  };
  return readSpan(read("--from", flags.from), read("--to", flags.to));
}

/** Writes beside the file and renames. @returns how many bytes */
async function writeFile(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { random }: DataDeps,
): Promise<number> {
  const temporary = `${path}.${random.uuid().slice(0, 8)}.tmp`;
  let bytes = 0;
  try {
    using file = await Deno.open(temporary, { write: true, createNew: true });
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length;) at += await file.write(piece.subarray(at));
      bytes += piece.length;
    }
    await Deno.rename(temporary, path);
    return bytes;
  } catch (error) {
    await Deno.remove(temporary).catch(() => undefined); // It may not have been made.
    throw error instanceof Error && "code" in error && typeof error.code === "string"
      ? toFileError(error, `write to ${dirname(path)}`, path)
      : error;
  }
}

function isPart({ partId, partName }: DataSource, wanted: string | undefined): boolean {
  return wanted === undefined || wanted === partId || wanted === partName;
}

function timeText(time: Timestamp | undefined): string {
  return time ? new Date(timestampMs(time)).toISOString().slice(0, 19) : "-";
}

function mib(bytes: bigint): string {
  return (Number(bytes) / 1_048_576).toFixed(1);
}
