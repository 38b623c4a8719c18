import { basename, join, resolve } from "node:path";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { type Progress, progressBar } from "../../shared/commands/output/progress.ts";
import type { CommandContext } from "../../shared/commands/run/command.ts";
import {
  CopyFilesSourceType,
  type CopyFilesToMachineRequestSchema,
  type ShellService,
} from "../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { MessageChannel } from "./channel.ts";

/** What is copied where. */
export interface Copy {
  /** Of the shell service. */
  readonly name: string;
  readonly source: string;
  readonly destination: string;
  readonly recursive: boolean;
  readonly preserve: boolean;
}

/** What was copied. */
export interface Copied {
  readonly files: number;
  readonly bytes: number;
}

type Request = MessageInitShape<typeof CopyFilesToMachineRequestSchema>;

const CHUNK_BYTES = 64 * 1024;

interface Entry {
  readonly path: string;
  /** Under which it arrives. */
  readonly name: string;
  readonly info: Deno.FileInfo;
}

/** Sends a file or folder to a machine; each file is acknowledged before the next one. */
export async function sendFiles(
  context: CommandContext,
  client: Client<typeof ShellService>,
  { name, source, destination, recursive, preserve }: Copy,
): Promise<Copied> {
  const info = await Deno.stat(source).catch((error) => {
    throw toFileError(error, "copy", source);
  });
  if (info.isDirectory && !recursive) {
    throw new UsageError(`${source} is a folder; copy it with -r`);
  }
  const entries = await Array.fromAsync(walk(source, basename(resolve(source)), info));
  const total = entries.reduce((sum, { info }) => sum + (info.isFile ? info.size : 0), 0);
  const progress = progressBar(context, `copy ${basename(resolve(source))}`, total);
  const requests = new MessageChannel<Request>();
  const sourceType = info.isDirectory
    ? CopyFilesSourceType.SINGLE_DIRECTORY
    : CopyFilesSourceType.SINGLE_FILE;
  const value = { name, sourceType, destination, preserve };
  requests.push({ request: { case: "metadata", value } });
  const acknowledged = client.copyFilesToMachine(requests)[Symbol.asyncIterator]();
  try {
    for (const entry of entries) {
      // Its answer, or the refusal that ends the copy, may come while the file is sent.
      const answer = acknowledged.next();
      answer.catch(() => requests.end());
      await send(entry, requests, progress);
      await answer;
    }
    requests.end();
    await acknowledged.next();
  } finally {
    requests.end();
    progress.end();
  }
  return { files: entries.filter(({ info }) => info.isFile).length, bytes: total };
}

async function* walk(path: string, name: string, info: Deno.FileInfo): AsyncGenerator<Entry> {
  if (info.isFile) return yield { path, name, info };
  if (!info.isDirectory) return; // a socket or a device
  for await (const { name: child } of Deno.readDir(path)) {
    const inner = join(path, child);
    const found = await Deno.lstat(inner);
    // What a link names is copied where it is itself.
    if (!found.isSymlink) yield* walk(inner, `${name}/${child}`, found);
  }
  yield { path, name, info };
}

async function send(
  { path, name, info }: Entry,
  requests: MessageChannel<Request>,
  progress: Progress,
): Promise<void> {
  const attributes = {
    name,
    size: BigInt(info.size),
    isDir: info.isDirectory,
    ...(info.mtime ? { modTime: timestampFromDate(info.mtime) } : {}),
    ...(info.mode === null ? {} : { mode: info.mode & 0o777 }),
  };
  const push = (value: object) => requests.push({ request: { case: "fileData", value } });
  if (info.isDirectory) return push({ ...attributes, eof: true });
  using file = await Deno.open(path).catch((error) => {
    throw toFileError(error, "copy", path);
  });
  for (let isFirst = true;; isFirst = false) {
    await requests.room();
    const buffer = new Uint8Array(CHUNK_BYTES);
    const count = await file.read(buffer) ?? 0;
    const eof = count === 0;
    push({ ...(isFirst ? attributes : {}), data: buffer.subarray(0, count), eof });
    progress.add(count);
    if (eof) return;
  }
}
