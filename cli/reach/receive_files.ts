import { basename, dirname, join } from "node:path";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { type Progress, progressBar } from "../../shared/commands/output/progress.ts";
import type { CommandContext } from "../../shared/commands/run/command.ts";
import {
  type CopyFilesFromMachineRequestSchema,
  CopyFilesSourceType,
  type FileData,
  type ShellService,
} from "../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { MessageChannel } from "./channel.ts";
import type { Copied, Copy } from "./send_files.ts";

type Request = MessageInitShape<typeof CopyFilesFromMachineRequestSchema>;

/** Fetches a file or folder from a machine. A file appears when it is whole. */
export async function receiveFiles(
  context: CommandContext,
  client: Client<typeof ShellService>,
  { name, source, destination, recursive, preserve }: Copy,
): Promise<Copied> {
  const requests = new MessageChannel<Request>();
  const value = { name, paths: [source], allowRecursion: recursive, preserve };
  requests.push({ request: { case: "metadata", value } });
  const answers = client.copyFilesFromMachine(requests)[Symbol.asyncIterator]();
  const next = async (): Promise<FileData | undefined> => {
    const { done, value } = await answers.next();
    if (done) return undefined;
    if (value.response.case === "fileData") return value.response.value;
    throw new Error("the machine sent something else than a file");
  };
  let progress: Progress | undefined;
  const copied = { files: 0, bytes: 0 };
  try {
    const head = await answers.next();
    if (head.done || head.value.response.case !== "metadata") {
      throw new Error("the machine did not describe what it sends");
    }
    const target = await targetOf(destination, head.value.response.value.sourceType);
    for (let first = await next(); first; first = await next()) {
      progress ??= progressBar(
        context,
        `copy ${source}`,
        first.isDir ? undefined : Number(first.size),
      );
      const path = target(first.name);
      if (first.isDir) await Deno.mkdir(path, { recursive: true });
      else {
        copied.files++;
        copied.bytes += await write(path, first, next, progress);
      }
      if (preserve && first.mode !== undefined && Deno.build.os !== "windows") {
        await Deno.chmod(path, first.mode & 0o777);
      }
      if (preserve && first.modTime) {
        await Deno.utime(path, new Date(), timestampDate(first.modTime));
      }
      requests.push({ request: { case: "ackLastFile", value: true } });
    }
  } finally {
    requests.end();
    progress?.end();
  }
  return copied;
}

/** As scp does it: into a folder that exists, or under a new name besides its siblings. */
async function targetOf(
  destination: string,
  sourceType: CopyFilesSourceType,
): Promise<(name: string) => string> {
  const there = await Deno.stat(destination).catch(() => undefined);
  const [folder, rename] = there?.isDirectory
    ? [destination, undefined]
    : [dirname(destination), basename(destination)];
  if (there?.isFile && sourceType === CopyFilesSourceType.SINGLE_DIRECTORY) {
    throw new UsageError(`${destination} is a file; a folder is to be copied`);
  }
  return (name) => {
    const [first = "", ...rest] = partsOf(name);
    return join(folder, rename ?? first, ...rest);
  };
}

/** A machine must not write elsewhere than where it should. */
function partsOf(name: string): string[] {
  const parts = name.split("/");
  const isBad = parts.some((part) =>
    part === "" || part === "." || part === ".." ||
    // deno-lint-ignore no-control-regex
    (Deno.build.os === "windows" && /[\\:*?"<>|]/.test(part)) || /\u0000/.test(part)
  );
  if (!isBad) return parts;
  throw new Error(
    `the machine sent a file with the name ${JSON.stringify(name)}, which leads elsewhere`,
  );
}

async function write(
  path: string,
  first: FileData,
  next: () => Promise<FileData | undefined>,
  progress: Progress,
): Promise<number> {
  const part = join(dirname(path), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.part`);
  let bytes = 0;
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
    {
      using file = await Deno.open(part, { write: true, createNew: true });
      for (let data = first;;) {
        for (let at = 0; at < data.data.length;) at += await file.write(data.data.subarray(at));
        bytes += data.data.length;
        progress.add(data.data.length);
        if (data.eof) break;
        const more = await next();
        if (!more) throw new Error(`the rest of ${first.name} did not come`);
        data = more;
      }
    }
    await Deno.rename(part, path);
    return bytes;
  } catch (error) {
    await Deno.remove(part).catch(() => undefined); // It may not have been made.
    throw error instanceof Error && "code" in error && typeof error.code === "string"
      ? toFileError(error, "write", path)
      : error;
  }
}
