import { Code, ConnectError } from "@connectrpc/connect";
import {
  type FlagTable,
  type FlagValues,
  parseFlags,
  type ReadEnv,
  renderHelp,
  UsageError,
} from "../../base/flags/flags.ts";
import {
  type Command,
  type CommandCloud,
  type CommandContext,
  type CommandTree,
  type FirstWords,
  type Output,
  renamedCommand,
} from "./command.ts";
import { findCommand, groupHelp, unknownCommand } from "./find_command.ts";

/** What every command takes. */
export const OUTPUT_FLAGS = {
  "json": { type: "boolean", doc: "Print JSON: field names stay as they are." },
  "quiet": { type: "boolean", aliases: ["q"], doc: "Print ids only, and no progress." },
} as const satisfies FlagTable;

/** A connection that is closed when the command has ended. */
export interface OpenCloud extends CommandCloud, AsyncDisposable {
  /** What a person can do about a call that failed. */
  advice(error: unknown): unknown;
}

/** A program made of commands. */
export interface CommandProgram<T extends FlagTable = FlagTable> {
  readonly name: string;
  readonly summary: string;
  readonly tree: CommandTree;
  /** How this program names the shared trees, for hints. Default: as they name themselves. */
  readonly firstWords?: FirstWords;
  /** What every command takes besides: where the cloud is, `org`. */
  readonly flags: T;
  connect(values: FlagValues<T>): Promise<OpenCloud>;
  /** How `--json` prints a list. Default `document`: one JSON text; `lines`: one for each entry. */
  readonly jsonLists?: "document" | "lines";
}

/** What running needs from outside. */
export type CommandDeps =
  & Pick<CommandContext, "clock" | "random" | "terminal" | "write" | "warn">
  & { readonly env: ReadEnv };

/**
 * Runs a command line and prints what came of it.
 *
 * @throws {UsageError} for a command line that is wrong; {Error} with a sentence for a person
 */
export async function runCommandLine<T extends FlagTable>(
  argv: readonly string[],
  program: CommandProgram<T>,
  deps: CommandDeps,
): Promise<void> {
  const print = (text: string) => deps.write(new TextEncoder().encode(text));
  const [first] = argv;
  const asksForHelp = first !== undefined && /^(-h|--?help|help)$/.test(first);
  const everywhere = { ...program.flags, ...OUTPUT_FLAGS };
  const { options, words } = optionsInFront(asksForHelp ? argv.slice(1) : argv, everywhere);
  const found = findCommand(words, program.tree);
  if (!found) {
    const help = groupHelp(words, program, asksForHelp);
    if (help === undefined) throw unknownCommand(words, program);
    return await print(help);
  }
  const { name, command } = found;
  const spec = {
    program: `${program.name} ${name}`,
    summary: command.summary,
    // Those of the command come first, and count where both have one.
    flags: { ...command.flags, ...everywhere, ...command.flags },
    ...(command.arguments ? { arguments: command.arguments } : {}),
    ...(command.footer === undefined ? {} : { footer: command.footer }),
  };
  if (asksForHelp) return await print(renderHelp(spec));
  const ownWords = words.slice(name.split(" ").length);
  const parsed = parseFlags([...options, ...ownWords], spec, deps.env);
  if (parsed.help) return await print(renderHelp(spec));
  const values = parsed.values as FlagValues<typeof OUTPUT_FLAGS> & FlagValues<T>;
  if (values.quiet && !values.json && command.showsOnce !== undefined) {
    throw new UsageError(
      `--quiet prints ids only, and the ${command.showsOnce} is not shown again; use --json`,
    );
  }
  const list = listOf(name, command, program);
  const output = await withCloud(program, values, deps, (context) =>
    command.run(context, {
      values: parsed.values as FlagValues<FlagTable>,
      arguments: parsed.arguments,
    }), list);
  if (!output) return;
  await print(textOf(output, values, program.jsonLists));
  if (output.failure !== undefined) throw new Error(output.failure);
}

/** What every command takes may also stand before its name: `--profile work machines list`. */
function optionsInFront(
  argv: readonly string[],
  flags: FlagTable,
): { readonly options: readonly string[]; readonly words: readonly string[] } {
  let at = 0;
  for (let word = argv[0]; word?.startsWith("-"); word = argv[at]) {
    const [name = ""] = word.replace(/^--?/, "").split("=");
    const [, flag] = Object.entries(flags).find(([known, { aliases = [] }]) =>
      known === name || aliases.includes(name)
    ) ?? [];
    if (!flag) {
      break;
    }
    at += flag.type === "boolean" || word.includes("=") ? 1 : 2;
  }
  return { options: argv.slice(0, at), words: argv.slice(at) };
}

/** Runs one command; its connection is closed in the end. */
async function withCloud<T extends FlagTable>(
  program: CommandProgram<T>,
  values: FlagValues<typeof OUTPUT_FLAGS> & FlagValues<T>,
  deps: CommandDeps,
  work: (context: CommandContext) => ReturnType<Command["run"]>,
  list?: string,
): Promise<Output | void> {
  let connection: Promise<OpenCloud> | undefined;
  const { org } = values as { readonly org?: string };
  const context: CommandContext = {
    ...deps,
    program: program.name,
    commandLine: (name) => `${program.name} ${renamedCommand(name, program.firstWords ?? {})}`,
    organization: org,
    json: values.json,
    quiet: values.quiet,
    cloud: () => connection ??= program.connect(values),
  };
  try {
    return await work(context);
  } catch (error) {
    const open = await connection?.catch(() => undefined);
    throw plainFailure(open ? open.advice(error) : error, list);
  } finally {
    await (await connection?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }
}

/** The command line that lists what a command acts on; undefined: none does. */
function listOf(
  name: string,
  { listedBy = "list" }: Command,
  { name: program, tree }: Pick<CommandProgram, "name" | "tree">,
): string | undefined {
  const list = name.replace(/[^ ]*$/, listedBy);
  return listedBy !== "" && list !== name && list in tree ? `${program} ${list}` : undefined;
}

/** What a call refuses has no code in front, which only programs need. */
function plainFailure(error: unknown, list: string | undefined): unknown {
  if (!(error instanceof ConnectError)) return error;
  const isMissing = error.code === Code.NotFound && list !== undefined;
  const advice = isMissing ? `; ${list} shows what there is` : "";
  return new Error(error.rawMessage + advice, { cause: error });
}

function textOf(
  { json, text, ids = [] }: Output,
  values: FlagValues<typeof OUTPUT_FLAGS>,
  lists: CommandProgram["jsonLists"],
): string {
  if (values.json) {
    const all: readonly unknown[] = lists === "lines" && Array.isArray(json) ? json : [json];
    return all.filter((one) => one !== undefined)
      .map((one) => `${JSON.stringify(one, bigintAsText)}\n`).join("");
  }
  if (values.quiet) return ids.map((id) => `${id}\n`).join("");
  return text;
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** The exit code of what `runCommandLine` threw: 2 for wrong usage, 1 for everything else. */
export function exitCodeOf(error: unknown): 1 | 2 {
  return error instanceof UsageError ? 2 : 1;
}
