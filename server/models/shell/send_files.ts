import { basename, join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import {
  type CopyFilesFromMachineRequest,
  type CopyFilesFromMachineResponseSchema,
  CopyFilesSourceType,
  type FileDataSchema,
} from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { type Folders, machinePath } from "./machine_path.ts";
import { nextRequest } from "./next_request.ts";

/** Of each message. */
const CHUNK_BYTES = 256 * 1024;
/** Deeper than people go, and no deeper than the stack. */
const DEEPEST = 100;

type Response = MessageInitShape<typeof CopyFilesFromMachineResponseSchema>;

interface SendContext {
  readonly folders: Folders;
  readonly log: Logger;
}

/**
 * Sends the files and folders that a caller requests, and waits for each to be acknowledged. What a
 * folder holds comes before the folder itself. Links are followed; sockets, devices, links to
 * nowhere and to a folder they lie in are left out, and the log says so.
 *
 * @throws {ConnectError} INVALID_ARGUMENT for a folder without `allow_recursion`, NOT_FOUND for
 *   what is not there.
 */
export async function* sendFiles(
  requests: AsyncIterable<CopyFilesFromMachineRequest>,
  signal: AbortSignal,
  { folders, log }: SendContext,
): AsyncGenerator<Response> {
  const stream = requests[Symbol.asyncIterator]();
  const { request: head } = await nextRequest(stream, signal) ?? {};
  if (head?.case !== "metadata") {
    throw new ConnectError("the stream must begin with the metadata", Code.InvalidArgument);
  }
  const { paths, allowRecursion, preserve } = head.value;
  const entries = await Promise.all(paths.map((path) => inspect(path, folders)));
  const [only] = entries;
  if (!only) throw new ConnectError("no paths to copy are named", Code.InvalidArgument);
  const folder = entries.find(({ info }) => info.isDirectory);
  if (folder && !allowRecursion) {
    throw new ConnectError(
      `${folder.path} is a folder; to copy folders set allow_recursion`,
      Code.InvalidArgument,
    );
  }
  yield { response: { case: "metadata", value: { sourceType: sourceType(entries) } } };
  for (const { path } of entries) {
    for await (const found of walk(path, basename(path), [], log)) {
      for await (const value of readEntry(found, preserve, signal)) {
        yield { response: { case: "fileData", value } };
      }
      const answer = await nextRequest(stream, signal);
      if (!answer) return; // the caller wants no more
      if (answer.request.case !== "ackLastFile") {
        throw new ConnectError(
          `${found.name} must be acknowledged before the next file`,
          Code.InvalidArgument,
        );
      }
    }
  }
}

interface Entry {
  readonly path: string;
  readonly info: Deno.FileInfo;
}

async function inspect(given: string, folders: Folders): Promise<Entry> {
  if (given === "") throw new ConnectError("a path to copy is empty", Code.InvalidArgument);
  const path = machinePath(given, folders);
  try {
    return { path, info: await Deno.stat(path) };
  } catch (error) {
    const { message, code } = toFileError(error, "copy", path);
    throw new ConnectError(message, code === "ENOENT" ? Code.NotFound : Code.FailedPrecondition);
  }
}

function sourceType(entries: readonly Entry[]): CopyFilesSourceType {
  if (entries.length > 1) return CopyFilesSourceType.MULTIPLE_FILES;
  return entries[0]!.info.isDirectory
    ? CopyFilesSourceType.SINGLE_DIRECTORY
    : CopyFilesSourceType.SINGLE_FILE;
}

/** A file or folder under its name in the copy. */
interface Found extends Entry {
  readonly name: string;
}

async function* walk(
  path: string,
  name: string,
  around: readonly string[],
  log: Logger,
): AsyncGenerator<Found> {
  const info = await Deno.stat(path).catch(() => undefined); // a link to nowhere, or gone meanwhile
  if (info?.isFile) return yield { path, name, info };
  const real = info?.isDirectory ? await Deno.realPath(path).catch(() => undefined) : undefined;
  if (!info || real === undefined || around.includes(real) || around.length >= DEEPEST) {
    log.warn(`${path} is left out of the copy: it is no file, or a folder that is around it`);
    return;
  }
  const inside: string[] = [];
  try {
    for await (const entry of Deno.readDir(path)) inside.push(entry.name);
  } catch (error) {
    throw toFileError(error, "copy", path);
  }
  for (const child of inside.sort()) {
    yield* walk(join(path, child), `${name}/${child}`, [...around, real], log);
  }
  yield { path, name, info };
}

type Data = MessageInitShape<typeof FileDataSchema>;

/** The messages of one entry; the end is one of its own, because some receivers read it as empty. */
async function* readEntry(
  { path, name, info }: Found,
  preserve: boolean,
  signal: AbortSignal,
): AsyncGenerator<Data> {
  let head: Data = {
    name,
    size: BigInt(info.size),
    isDir: info.isDirectory,
    ...(preserve && info.mode !== null && { mode: info.mode & 0o7777 }),
    ...(preserve && info.mtime && { modTime: timestampFromDate(info.mtime) }),
  };
  if (info.isDirectory) return yield { ...head, eof: true };
  const file = await Deno.open(path).catch((error) => {
    throw toFileError(error, "copy", path);
  });
  try {
    for (;;) {
      signal.throwIfAborted();
      const data = new Uint8Array(Math.min(CHUNK_BYTES, info.size || CHUNK_BYTES));
      const length = await file.read(data);
      if (length === null) break;
      yield { ...head, data: data.subarray(0, length) };
      head = {};
    }
    yield { ...head, eof: true };
  } finally {
    file.close();
  }
}
