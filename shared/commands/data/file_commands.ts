import { join } from "node:path";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { toFileError } from "../../base/files/fs_error.ts";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import { type BinaryMetadata, DataService } from "../../gen/viam/app/data/v1/data_pb.ts";
import { saveAnswer } from "../download/save_answer.ts";
import { counted, sizeText } from "../output/amounts.ts";
import { textTable } from "../output/text_table.ts";
import { isoTime, timeText } from "../output/times.ts";
import { clientOf, type CommandContext, done, type Output } from "../run/command.ts";
import type { deleteFilesFlags, filesFlags } from "./data_flags.ts";
import { type FileFlags, filesOf, filterOf, namesFiles, totalOf } from "./files.ts";

/** A line for each file, newest first. */
export async function listFiles(
  flags: FlagValues<typeof filesFlags>,
  context: CommandContext,
): Promise<Output> {
  const files = await Array.fromAsync(filesOf(flags, context, flags.limit));
  const rows = files.map((file) => [
    file.binaryDataId,
    file.captureMetadata?.robotName ?? "",
    file.captureMetadata?.componentName ?? "",
    timeText(file.timeRequested ?? file.timeReceived),
    sizeText(Number(file.fileSizeBytes)),
    file.captureMetadata?.mimeType ?? "",
    file.captureMetadata?.tags.join(", ") ?? "",
  ]);
  const heading = ["ID", "MACHINE", "RESOURCE", "CAPTURED", "SIZE", "TYPE", "TAGS"];
  if (files.length === flags.limit) {
    context.warn(`only the newest ${flags.limit} are shown; --limit shows more`);
  }
  return {
    json: files.map(jsonOf),
    text: files.length === 0
      ? "no files fit\n"
      : textTable([heading, ...rows], context.terminal.columns),
    ids: files.map(({ binaryDataId }) => binaryDataId),
  };
}

/** Downloads what options name; a file of the same name and size is left as it is. */
export async function downloadFiles(
  flags: FileFlags,
  folder: string,
  context: CommandContext,
): Promise<Output> {
  let [downloaded, skipped, bytes] = [0, 0, 0];
  const cloud = await context.cloud();
  const names: string[] = [];
  for await (const file of filesOf(flags, context)) {
    await makeFolder(folder);
    const path = join(folder, nameOf(file));
    names.push(path);
    if (await sizeOf(path) === Number(file.fileSizeBytes)) {
      skipped++;
      continue;
    }
    const id = file.binaryDataId.split("/").at(-1) ?? "";
    bytes += await saveAnswer(context, await cloud.download(`data/files/${id}`, {}), path);
    downloaded++;
  }
  const rest = skipped === 0 ? "" : `; ${skipped} were there already`;
  const text = downloaded + skipped === 0
    ? "no files fit\n"
    : `downloaded ${counted(downloaded, "file")} (${sizeText(bytes)}) into ${folder}${rest}\n`;
  return { json: { folder, downloaded, skipped, bytes }, text, ids: names };
}

/** Deletes what options name, once confirmed with `--yes`. */
export async function deleteFiles(
  flags: FlagValues<typeof deleteFilesFlags>,
  context: CommandContext,
): Promise<Output> {
  if (!namesFiles(flags)) {
    throw new UsageError("select the files: --machine, --resource, --from, --tag, --id …");
  }
  const client = await clientOf(context, DataService);
  if (flags.id.length > 0) {
    const ids = (await Array.fromAsync(filesOf(flags, context))).map((file) => file.binaryDataId);
    requireYes(flags.yes, ids.length, context);
    const { deletedCount } = await client.deleteBinaryDataByIDs({ binaryDataIds: ids });
    return deleted(Number(deletedCount));
  }
  const { count, bytes } = await totalOf(flags, context);
  requireYes(flags.yes, count, context, ` (${sizeText(bytes)})`);
  const filter = await filterOf(flags, context);
  return deleted(Number((await client.deleteBinaryDataByFilter({ filter })).deletedCount));
}

function requireYes(yes: boolean, count: number, { program }: CommandContext, size = ""): void {
  if (yes) return;
  throw new UsageError(
    `${
      counted(count, "file")
    }${size} would be deleted for good; ${program} data files with the same options ` +
      "lists them, --yes deletes them",
  );
}

function deleted(count: number): Output {
  return done({ deleted: count }, `deleted ${counted(count, "file")}`);
}

/** `2026-01-02T03-04-05.678Z-ID.jpeg`: what sorts by time and is one file only. */
function nameOf(file: BinaryMetadata): string {
  const time = file.timeRequested ?? file.timeReceived;
  const id = file.binaryDataId.split("/").at(-1) ?? "";
  const extension = /^\.?[A-Za-z0-9]{1,10}$/.test(file.fileExt) ? file.fileExt : "";
  const dot = extension === "" || extension.startsWith(".") ? "" : ".";
  const prefix = time ? `${timestampDate(time).toISOString().replaceAll(":", "-")}-` : "";
  return `${prefix}${id.replaceAll(/[^\w.-]/g, "_")}${dot}${extension}`;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    throw toFileError(error, "make the folder", path);
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return await Deno.stat(path).then(({ size }) => size, () => undefined);
}

function jsonOf(file: BinaryMetadata) {
  const from = file.captureMetadata;
  return {
    id: file.binaryDataId,
    machine_id: from?.robotId,
    machine_name: from?.robotName,
    part_id: from?.partId,
    resource_name: from?.componentName,
    captured_at: isoTime(file.timeRequested),
    received_at: isoTime(file.timeReceived),
    size: Number(file.fileSizeBytes),
    mime_type: from?.mimeType,
    file_name: file.fileName,
    tags: from?.tags ?? [],
    dataset_ids: file.datasetIds,
  };
}
