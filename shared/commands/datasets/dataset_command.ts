import { join } from "node:path";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import { DataService } from "../../gen/viam/app/data/v1/data_pb.ts";
import {
  type Dataset,
  DatasetService,
  DatasetType,
  SequenceDatasetExportStatus,
} from "../../gen/viam/app/dataset/v1/dataset_pb.ts";
import { chooseDataset } from "../choice/dataset.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { downloadFiles } from "../data/file_commands.ts";
import { type FileFlags, filesOf, namesFiles, totalOf } from "../data/files.ts";
import { saveAnswer } from "../download/save_answer.ts";
import { counted, sizeText } from "../output/amounts.ts";
import { textTable } from "../output/text_table.ts";
import { isoTime, timeText } from "../output/times.ts";
import {
  clientOf,
  type CommandContext,
  type CommandOf,
  done,
  type Output,
} from "../run/command.ts";
import type { contentFlags, datasetCommands } from "./dataset_flags.ts";

/** One of the commands about datasets, as the command line requests it. */
export type DatasetCommand = CommandOf<typeof datasetCommands>;

/** As many files as one call puts into a dataset. */
const AT_ONCE = 500;
/** How often an archive that is being packed is looked at. */
const LOOK_EVERY_MS = 1_000;

const NO_FILTER: FileFlags = {
  ...{ machine: undefined, part: undefined, resource: undefined, from: undefined, to: undefined },
  ...{ "tag": [], "mime-type": [], "in-dataset": undefined, "id": [] },
};

/** Does what the command line requests. */
export async function runDatasetCommand(
  parsed: DatasetCommand,
  context: CommandContext,
): Promise<Output> {
  const [wanted = "", second = ""] = parsed.arguments;
  if (parsed.command === "dataset list") return await list(context);
  const { id: organizationId } = await chooseOrganization(context);
  const client = await clientOf(context, DatasetService);
  switch (parsed.command) {
    case "dataset create": {
      const type = parsed.values.sequences ? DatasetType.SEQUENCE_DATA : DatasetType.BINARY_DATA;
      const { id } = await client.createDataset({ organizationId, name: wanted, type });
      return done({ id, name: wanted }, `dataset ${wanted} is made: ${id}`);
    }
    case "dataset merge": {
      const { from } = parsed.values;
      if (from.length < 2) throw new UsageError("name the datasets: --from A --from B");
      const datasetIds: string[] = [];
      for (const one of from) {
        datasetIds.push((await chooseDataset(context, organizationId, one)).id);
      }
      const { datasetId: id } = await client.mergeDatasets({
        ...{ organizationId, name: wanted, datasetIds },
      });
      return done({ id, name: wanted }, `dataset ${wanted} is made of ${from.join(", ")}: ${id}`);
    }
  }
  const dataset = await chooseDataset(context, organizationId, wanted);
  const { id, name } = dataset;
  switch (parsed.command) {
    case "dataset rename":
      await client.renameDataset({ id, name: second });
      return done({ id, name: second }, `dataset ${name} is ${second} now`);
    case "dataset delete":
      if (!parsed.values.yes) {
        throw new UsageError(
          `this deletes dataset ${name} (${id}) permanently; confirm with --yes`,
        );
      }
      await client.deleteDataset({ id });
      return done({ id, name }, `deleted dataset ${name}; the files that were in it stay`);
    case "dataset add":
    case "dataset remove":
      return await change(parsed.command === "dataset add", dataset, parsed.values, context);
    case "dataset download":
      return dataset.type === DatasetType.SEQUENCE_DATA
        ? await downloadArchive(dataset, second, context)
        : await downloadFiles({ ...NO_FILTER, "in-dataset": id }, second, context);
  }
}

async function list(context: CommandContext): Promise<Output> {
  const { id: organizationId } = await chooseOrganization(context);
  const client = await clientOf(context, DatasetService);
  const { datasets } = await client.listDatasetsByOrganizationID({ organizationId });
  const json = [];
  for (const dataset of datasets) {
    const { id, name, timeCreated } = dataset;
    const holdsFiles = dataset.type !== DatasetType.SEQUENCE_DATA;
    const total = holdsFiles
      ? await totalOf({ ...NO_FILTER, "in-dataset": id }, context)
      : undefined;
    const type = holdsFiles ? "files" : "sequences";
    json.push({
      ...{ id, name, type, created_at: isoTime(timeCreated), created: timeText(timeCreated) },
      ...{ files: total?.count ?? null, bytes: total?.bytes ?? null },
    });
  }
  const rows = json.map(({ id, name, type, files, bytes, created }) => [
    ...[id, name, type, files === null ? "-" : String(files)],
    ...[bytes === null ? "-" : sizeText(bytes), created],
  ]);
  const heading = ["ID", "DATASET", "OF", "FILES", "SIZE", "MADE"];
  return {
    json: json.map(({ created: _, ...rest }) => rest),
    text: rows.length === 0
      ? `no datasets; make one with ${context.commandLine("dataset create")} NAME\n`
      : textTable([heading, ...rows], context.terminal.columns),
    ids: datasets.map(({ id }) => id),
  };
}

async function change(
  isAdded: boolean,
  { id: datasetId, name, type }: Dataset,
  flags: FlagValues<typeof contentFlags>,
  context: CommandContext,
): Promise<Output> {
  const client = await clientOf(context, DataService);
  const how = (count: number, word: string) =>
    `${counted(count, word)} ${count === 1 ? "is" : "are"} ${
      isAdded ? "put into" : "taken out of"
    } ${name}`;
  if (type === DatasetType.SEQUENCE_DATA) {
    const sequenceIds = [...flags.sequence];
    if (sequenceIds.length === 0 || namesFiles(flags)) {
      throw new UsageError(`${name} is a dataset of sequences; name them with --sequence ID`);
    }
    const asked = { datasetId, sequenceIds };
    await (isAdded
      ? client.addSequencesToDataset(asked)
      : client.removeSequencesFromDataset(asked));
    const count = sequenceIds.length;
    return done({ id: datasetId, sequences: count }, how(count, "sequence"));
  }
  if (flags.sequence.length > 0) throw new UsageError(`${name} is a dataset of files`);
  if (!namesFiles(flags)) {
    throw new UsageError("select the files: --machine, --resource, --from, --tag, --id …");
  }
  const files = await Array.fromAsync(filesOf(flags, context));
  const ids = files.map(({ binaryDataId }) => binaryDataId);
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const asked = { datasetId, binaryDataIds: ids.slice(at, at + AT_ONCE) };
    await (isAdded
      ? client.addBinaryDataToDatasetByIDs(asked)
      : client.removeBinaryDataFromDatasetByIDs(asked));
  }
  return done({ id: datasetId, files: ids.length }, how(ids.length, "file"));
}

/** Has the cloud pack the sequences, waits for that, and downloads the archive. */
async function downloadArchive(
  { id: datasetId, name }: Dataset,
  folder: string,
  context: CommandContext,
): Promise<Output> {
  const client = await clientOf(context, DatasetService);
  const { jobId } = await client.startSequenceDatasetExport({ datasetId });
  for (;;) {
    const { status, errorMessage, downloadUrl } = await client.getSequenceDatasetExport({ jobId });
    if (status === SequenceDatasetExportStatus.FAILED) {
      throw new Error(`the cloud cannot pack dataset ${name}: ${errorMessage}`);
    }
    if (status === SequenceDatasetExportStatus.COMPLETED) {
      const { pathname, searchParams } = new URL(downloadUrl);
      await Deno.mkdir(folder, { recursive: true });
      const path = join(folder, `${name.replaceAll(/[^\w.-]/g, "_")}.tar.gz`);
      const cloud = await context.cloud();
      const answer = await cloud.download(
        pathname.replace(/^\//, ""),
        Object.fromEntries(searchParams),
      );
      const bytes = await saveAnswer(context, answer, path);
      return done({ id: datasetId, file: path, bytes }, `${bytes} bytes in ${path}`);
    }
    await context.clock.sleep(LOOK_EVERY_MS);
  }
}
