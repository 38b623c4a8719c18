// deno run -A tools/ftdc/main.ts [-metric text] [-csv] [-svg file] FILE_OR_FOLDER
// Shows what full-time data capture has written: a table, CSV, or an image.
import { join } from "node:path";
import process from "node:process";
import { toError } from "../../shared/base/errors/to_error.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import {
  type FlagSpec,
  parseFlags,
  renderHelp,
  UsageError,
} from "../../shared/base/flags/flags.ts";
import { type Datum, readFtdc, toSeries } from "../../server/diagnostics/ftdc/read.ts";
import { csv, svg, table } from "./render.ts";

const flags = {
  csv: { type: "boolean", doc: "Print all values as CSV in place of the table." },
  metric: {
    type: "string",
    placeholder: "TEXT",
    doc: "Show only names that contain this text; several are separated by commas.",
  },
  svg: { type: "string", placeholder: "FILE", doc: "Write charts to this file." },
} as const;

const commandLine: FlagSpec<typeof flags> = {
  program: "ftdc",
  summary: "Shows files of full-time data capture.",
  dashes: "-",
  flags,
  arguments: [{
    placeholder: "FILE",
    doc: "A file, or a folder whose .ftdc files are one course.",
  }],
};

async function main(): Promise<void> {
  const { values, arguments: [path = ""], help } = parseFlags(Deno.args, commandLine);
  if (help) {
    process.stdout.write(renderHelp(commandLine));
    return;
  }
  const data: Datum[] = [];
  for (const file of await filesOf(path)) {
    const reading = readFtdc(await read(file));
    if (reading.problem) process.stderr.write(`${file}: ${reading.problem}\n`);
    // Not push(...): a full file has more data than a call may have arguments.
    for (const datum of reading.data) data.push(datum);
  }
  if (data.length === 0) throw new Error(`${path}: no data`);
  const texts = values.metric?.split(",");
  const series = toSeries(data).filter(({ name }) => texts?.some((t) => name.includes(t)) ?? true);
  if (series.length === 0) throw new Error(`no name contains ${JSON.stringify(values.metric)}`);
  if (values.svg) {
    await writeFileAtomic(values.svg, svg(series));
    process.stdout.write(`${values.svg}\n`);
  } else process.stdout.write(values.csv ? csv(series) : table(series));
}

/** The file itself, or the capture files of a folder, oldest first. */
async function filesOf(path: string): Promise<string[]> {
  try {
    if (!(await Deno.stat(path)).isDirectory) return [path];
    const entries = await Array.fromAsync(Deno.readDir(path));
    const names = entries.map(({ name }) => name).filter((name) => name.endsWith(".ftdc"));
    if (names.length === 0) throw new Error(`${path}: no .ftdc file in this folder`);
    return names.sort().map((name) => join(path, name));
  } catch (error) {
    if (error instanceof Error && !("code" in error)) throw error;
    throw toFileError(error, "read", path);
  }
}

async function read(path: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    throw toFileError(error, "read", path);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`ftdc: ${toError(error).message}\n`);
  process.exitCode = error instanceof UsageError ? error.exitCode : 1;
}
