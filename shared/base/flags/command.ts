import { parseFlags, type ReadEnv } from "./parse_flags.ts";
import { renderHelp, renderRows } from "./help.ts";
import { nearestName } from "./nearest.ts";
import type { FlagSpec, FlagTable, ParsedFlags } from "./spec.ts";
import { UsageError } from "./usage_error.ts";

/** The subcommands of a program by name; a name may have several words: `release add`. */
export type CommandTable = Readonly<Record<string, Omit<FlagSpec, "program">>>;

/** A program that does one of several things. */
export interface CommandSpec<C extends CommandTable = CommandTable> {
  readonly program: string;
  readonly summary: string;
  readonly commands: C;
  /** Commands that somebody else reads, for the help and for what is said of unknown ones. */
  readonly others?: Readonly<Record<string, { readonly summary: string }>>;
}

type Chosen<C extends CommandTable> = {
  [K in keyof C & string]: { readonly command: K } & Omit<ParsedFlags<FlagsOf<C[K]>>, "help">;
}[keyof C & string];
type FlagsOf<S> = S extends { readonly flags: infer T extends FlagTable } ? T : never;

/** The subcommand to run with its flags, or the text to print before ending with 0. */
export type ParsedCommand<C extends CommandTable> =
  | Chosen<C>
  | { readonly command: "help"; readonly text: string }
  | { readonly command: "version" };

/**
 * Reads a command line whose first words name a subcommand. `-h`, `--help`, `help` and
 * `help COMMAND` give the help, `-v`, `-version`, `--version` the version.
 *
 * @throws {UsageError}
 */
export function parseCommand<const C extends CommandTable>(
  argv: readonly string[],
  spec: CommandSpec<C>,
  env?: ReadEnv,
): ParsedCommand<C> {
  const [first] = argv;
  if (first !== undefined && /^(-v|--?version)$/.test(first)) return { command: "version" };
  const asksForHelp = first !== undefined && /^(-h|--?help|help)$/.test(first);
  const words = asksForHelp ? argv.slice(1) : argv;
  const name = findCommand(words, Object.keys(spec.commands));
  const command = name === undefined ? undefined : spec.commands[name];
  if (name === undefined || command === undefined) {
    if (asksForHelp && words.length === 0) return { command: "help", text: renderOverview(spec) };
    throw unknownCommand(words, spec);
  }
  const flagSpec = { ...command, program: `${spec.program} ${name}` };
  if (asksForHelp) return { command: "help", text: renderHelp(flagSpec) };
  const rest = words.slice(name.split(" ").length);
  const { help, ...parsed } = parseFlags(rest, flagSpec, env);
  if (help) return { command: "help", text: renderHelp(flagSpec) };
  return { command: name, ...parsed } as unknown as ParsedCommand<C>;
}

function findCommand(argv: readonly string[], names: readonly string[]): string | undefined {
  return names
    .filter((name) => name.split(" ").every((word, index) => argv[index] === word))
    .sort((a, b) => b.length - a.length)[0];
}

function unknownCommand(words: readonly string[], spec: CommandSpec): UsageError {
  const names = Object.keys({ ...spec.commands, ...spec.others });
  const [first] = words;
  if (first === undefined || first.startsWith("-")) {
    return new UsageError(
      `a command is needed: ${names.join(", ")}; ${spec.program} --help shows what they do`,
    );
  }
  const near = nearestName(words.slice(0, 2).join(" "), names) ?? nearestName(first, names);
  const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
  return new UsageError(`unknown command "${first}"${hint}; the commands are ${names.join(", ")}`);
}

function renderOverview(spec: CommandSpec): string {
  const rows = Object.entries({ ...spec.commands, ...spec.others }).map(([name, { summary }]) =>
    [name, summary] as const
  );
  return [
    spec.summary,
    `Usage:\n  ${spec.program} COMMAND [options]`,
    `Commands:\n${renderRows(rows)}`,
    `${spec.program} COMMAND --help lists the options of a command.\n`,
  ].join("\n\n");
}
