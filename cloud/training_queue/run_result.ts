import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { toFileError } from "../../shared/files/fs_error.ts";
import { RunError } from "./run_failure.ts";

/** What a run left in its output folder. */
export interface RunResult {
  /** Entries of the folder that are packed. */
  readonly entries: readonly string[];
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

/** Looks through what a run left. @throws {RunError} when there is nothing. */
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
  const top = (await list(output)).filter(({ name }) => name !== NOT_PACKED);
  await look(top, output, "");
  if (found.fileCount === 0) {
    throw new RunError(
      Code.FailedPrecondition,
      "the script ended without an error but left no file in the folder of " +
        "--model_output_directory; what it writes there becomes the model",
    );
  }
  const entries = top.filter(({ isFile, isDirectory }) => isFile || isDirectory)
    .map(({ name }) => name);
  return { entries, files, ...found, metrics: await readMetrics(output) };
}

/** The same files as a `.tar.gz`, piece by piece. */
export async function* packResult(
  output: string,
  { entries }: Pick<RunResult, "entries">,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { Pack } = await import("tar/pack");
  const pack = new Pack({
    cwd: output,
    gzip: true,
    // Nothing of this computer's users goes into the package.
    portable: true,
    filter: (_path, stat) => "isFile" in stat && (stat.isFile() || stat.isDirectory()),
  });
  for (const entry of entries) pack.add(entry);
  pack.end();
  for await (const piece of pack) {
    signal.throwIfAborted();
    yield typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
  }
}

/** Entries by name; links are neither files nor folders. */
async function list(folder: string): Promise<Deno.DirEntry[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.toSorted((a, b) => a.name < b.name ? -1 : 1);
  } catch (error) {
    throw toFileError(error, "read the result of a training job in", folder);
  }
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
