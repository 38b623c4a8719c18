import type { MessageInitShape } from "@bufbuild/protobuf";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import {
  type BinaryMetadata,
  DataService,
  type FilterSchema,
  Order,
  TagsFilterType,
} from "../../gen/viam/app/data/v1/data_pb.ts";
import { chooseDataset } from "../choice/dataset.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { choosePart } from "../choice/part.ts";
import { clientOf, type CommandContext } from "../run/command.ts";
import type { fileFilterFlags } from "./data_flags.ts";
import { spanOf } from "./times.ts";

/** Which files options name. */
export type FileFlags = FlagValues<typeof fileFilterFlags>;

type Filter = MessageInitShape<typeof FilterSchema>;

const PAGE = 500;

/** The filter that options stand for. @throws {UsageError} */
export async function filterOf(flags: FileFlags, context: CommandContext): Promise<Filter> {
  const { start, end } = spanOf(flags);
  const { id: organizationId } = await chooseOrganization(context);
  const { machine, part, resource, tag } = flags;
  const chosen = machine === undefined && part === undefined
    ? undefined
    : await choosePart(context, { machine, part });
  const dataset = flags["in-dataset"] === undefined
    ? undefined
    : await chooseDataset(context, organizationId, flags["in-dataset"]);
  return {
    organizationIds: [organizationId],
    // A machine stands for all of its parts.
    ...(chosen === undefined
      ? {}
      : part === undefined
      ? { robotId: chosen.machineId }
      : { partId: chosen.id }),
    componentName: resource ?? "",
    mimeType: [...flags["mime-type"]],
    datasetId: dataset?.id ?? "",
    ...(start || end ? { interval: { ...(start ? { start } : {}), ...(end ? { end } : {}) } } : {}),
    ...(tag.length > 0 ? { tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: [...tag] } } : {}),
  };
}

/**
 * The files that options name, newest first.
 *
 * @param most so many at most; left out: all
 * @throws {UsageError} for ids together with a filter, and for a file that is not there
 */
export async function* filesOf(
  flags: FileFlags,
  context: CommandContext,
  most = Infinity,
): AsyncIterable<BinaryMetadata> {
  const client = await clientOf(context, DataService);
  if (flags.id.length > 0) {
    requireNoFilter(flags);
    const { data } = await client.binaryDataByIDs({ binaryDataIds: [...flags.id] });
    for (const { metadata } of data) if (metadata) yield metadata;
    return;
  }
  const filter = await filterOf(flags, context);
  let given = 0;
  let last = "";
  while (given < most) {
    const limit = Math.min(PAGE, most - given);
    const page = await client.binaryDataByFilter({
      dataRequest: { filter, limit: BigInt(limit), last, sortOrder: Order.DESCENDING },
    });
    for (const { metadata } of page.data) if (metadata) yield metadata;
    given += page.data.length;
    last = page.last;
    if (page.data.length < limit || last === "") return;
  }
}

/** How many files fit and how large they are together. */
export async function totalOf(
  flags: FileFlags,
  context: CommandContext,
): Promise<{ readonly count: number; readonly bytes: number }> {
  const client = await clientOf(context, DataService);
  const { count, totalSizeBytes } = await client.binaryDataByFilter({
    dataRequest: { filter: await filterOf(flags, context) },
    countOnly: true,
  });
  return { count: Number(count), bytes: Number(totalSizeBytes) };
}

/** Whether options name anything: without that all files of an organisation fit. */
export function namesFiles(flags: FileFlags): boolean {
  return FILTERS.some((name) => isGiven(flags[name])) || flags.id.length > 0;
}

const FILTERS = [
  ...["machine", "part", "resource", "from", "to", "tag", "mime-type", "in-dataset"] as const,
];

function isGiven(value: string | readonly string[] | undefined): boolean {
  return value !== undefined && value.length > 0;
}

function requireNoFilter(flags: FileFlags): void {
  const other = FILTERS.find((name) => isGiven(flags[name]));
  if (other !== undefined) {
    throw new UsageError(`--id and --${other} do not go together: --id names the files themselves`);
  }
}
