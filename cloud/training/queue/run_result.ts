import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { ARCHIVE_LIMITS } from "../../../shared/transfer/archive/archive_policy.ts";
import { JobError } from "./job_failure.ts";
import { list, tarGz } from "../packing/tar_gz.ts";

/** What a run left in its output folder. */
export interface RunResult {
  /** Files in them; of many, the first. */
  readonly files: readonly { readonly name: string; readonly size: number }[];
  readonly fileCount: number;
  readonly bytes: number;
  /** Links and the like, which are not packed. */
  readonly leftOut: number;
  /** Numbers out of `metrics.json`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Not part of the model: scripts keep there what they need while they run. */
const NOT_PACKED = "tmp";
const METRICS_FILE = "metrics.json";
const LARGEST_METRICS = 64 * 1024;
const MOST_METRICS = 100;
const LONGEST_METRIC_NAME = 200;
/** Files that the package names. */
const NAMED_FILES = 1_000;

/** Looks through what a run left. @throws {JobError} when there is nothing. */
export async function readResult(output: string, signal: AbortSignal): Promise<RunResult> {
  const files: { name: string; size: number }[] = [];
  const found = { fileCount: 0, bytes: 0, leftOut: 0 };
  const look = async (entries: readonly Deno.DirEntry[], folder: string, prefix: string) => {
    for (const { name, isFile, isDirectory } of entries) {
      signal.throwIfAborted();
      const path = join(folder, name);
      if (isDirectory) await look(await list(path), path, `${prefix}${name}/`);
      else if (!isFile) found.leftOut++;
      else {
        const { size } = await Deno.lstat(path);
        found.fileCount++;
        found.bytes += size;
        if (files.length < NAMED_FILES) files.push({ name: prefix + name, size });
      }
    }
  };
  // A script may have put something else in its place, such as a link to where it has no business.
  const isFolder = await Deno.lstat(output).then((info) => info.isDirectory, () => false);
  const top = (isFolder ? await list(output) : []).filter(({ name }) => !isNotPacked(name));
  await look(top, output, "");
  if (found.fileCount === 0) {
    throw new JobError(
      Code.FailedPrecondition,
      "the script exited without an error but left no file in the folder of " +
        "--model_output_directory; what it writes there becomes the model",
    );
  }
  requireUsable(found);
  return { files, ...found, metrics: await readMetrics(output) };
}

/** Machines would not unpack it; a file that is mostly a hole is no larger on the disk than it is. */
function requireUsable({ fileCount, bytes }: Pick<RunResult, "fileCount" | "bytes">): void {
  const { entries: mostFiles, bytes: mostBytes } = ARCHIVE_LIMITS;
  if (fileCount <= mostFiles && bytes <= mostBytes) return;
  throw new JobError(
    Code.ResourceExhausted,
    `the model is too large for machines: files ${fileCount}, bytes ${bytes}, and they take up to ` +
      `${mostFiles} and ${mostBytes}; what is not part of the model belongs in the folder tmp`,
  );
}

/** The same files as a `.tar.gz`, piece by piece. */
export async function* packResult(
  output: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const piece of tarGz(output, isNotPacked)) {
    signal.throwIfAborted();
    yield piece;
  }
}

function isNotPacked(topName: string): boolean {
  return topName === NOT_PACKED;
}

async function readMetrics(output: string): Promise<Record<string, number>> {
  const path = join(output, METRICS_FILE);
  try {
    const { isFile, size } = await Deno.lstat(path);
    if (!isFile || size > LARGEST_METRICS) return {};
    const value: unknown = JSON.parse(await Deno.readTextFile(path));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
    const numbers = Object.entries(value).filter((entry): entry is [string, number] =>
      typeof entry[1] === "number" && entry[0].length <= LONGEST_METRIC_NAME
    );
    return Object.fromEntries(numbers.slice(0, MOST_METRICS));
  } catch {
    // There is none, or it is something of the script's own.
    return {};
  }
}
