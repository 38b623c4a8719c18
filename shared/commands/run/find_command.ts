import { nearestName } from "../../base/flags/nearest.ts";
import { renderRows } from "../../base/flags/help.ts";
import { UsageError } from "../../base/flags/flags.ts";
import type { Command, CommandTree } from "./command.ts";

interface Program {
  readonly name: string;
  readonly summary: string;
  readonly tree: CommandTree;
}

/** The command that the first words name, the longest name first; `machine list` is `machines list`. */
export function findCommand(
  words: readonly string[],
  tree: CommandTree,
): { readonly name: string; readonly command: Command } | undefined {
  const fits = (name: string) => name.split(" ").every((word, at) => isSame(word, words[at], at));
  const [name] = Object.keys(tree).filter(fits).sort((a, b) =>
    b.split(" ").length - a.split(" ").length
  );
  const command = name === undefined ? undefined : tree[name];
  return name === undefined || !command ? undefined : { name, command };
}

function isSame(word: string, typed: string | undefined, at: number): boolean {
  return word === typed || (at === 0 && (word === `${typed}s` || `${word}s` === typed));
}

/**
 * Whether a command line, or its `help`, is about a tree: it names a command, or the first word of
 * some. For a program that has other commands, too.
 */
export function namesCommand(argv: readonly string[], tree: CommandTree): boolean {
  const words = /^(-h|--?help|help)$/.test(argv[0] ?? "") ? argv.slice(1) : argv;
  const [first] = words;
  if (first === undefined || first.startsWith("-")) return false;
  return commandsBelow([first], tree).length > 0 || findCommand(words, tree) !== undefined;
}

/**
 * The help of the program, or of the commands below the words that were typed: `machine config`.
 * Undefined when the words name none.
 */
export function groupHelp(
  words: readonly string[],
  program: Program,
  asksForHelp: boolean,
): string | undefined {
  const last = words.at(-1) ?? "";
  const isHelp = asksForHelp || /^(-h|--?help)$/.test(last);
  const group = words.filter((word) => !word.startsWith("-"));
  if (group.length === 0) return isHelp ? overview(program) : undefined;
  const below = commandsBelow(group, program.tree);
  if (below.length === 0 || (!isHelp && group.length < words.length)) return undefined;
  if (group.length === 1 || isHelp) {
    return [
      `Usage:\n  ${program.name} ${below[0]?.[0].split(" ")[0]} COMMAND [options]`,
      `Commands:\n${renderRows(below.map(([name, { summary }]) => [name, summary] as const))}`,
      `${program.name} COMMAND --help lists the options of a command.\n`,
    ].join("\n\n");
  }
  return undefined;
}

function commandsBelow(group: readonly string[], tree: CommandTree) {
  return Object.entries(tree).filter(([name]) => {
    const words = name.split(" ");
    return words.length > group.length && group.every((word, at) => isSame(words[at]!, word, at));
  });
}

function overview({ name, summary, tree }: Program): string {
  const rows = Object.entries(tree).map(([name, command]) => [name, command.summary] as const);
  return [
    summary,
    `Usage:\n  ${name} COMMAND [options]`,
    `Commands:\n${renderRows(rows)}`,
    `${name} COMMAND --help lists the options of a command.\n`,
  ].join("\n\n");
}

/** Says which command was probably meant. */
export function unknownCommand(words: readonly string[], program: Program): UsageError {
  const names = Object.keys(program.tree);
  const groups = [...new Set(names.map((name) => name.split(" ")[0] ?? ""))];
  const [first] = words;
  if (first === undefined || first.startsWith("-")) {
    return new UsageError(
      `a command is needed: ${groups.join(", ")}; ${program.name} --help shows what they do`,
    );
  }
  const below = commandsBelow([first], program.tree).map(([name]) => name);
  const typed = words.slice(0, 2).join(" ");
  if (below.length > 0) {
    return new UsageError(
      `unknown command "${typed}"${hint(nearestName(typed, below))}; the commands are ${
        below.join(", ")
      }`,
    );
  }
  const near = nearestName(typed, names) ?? nearestName(first, groups);
  return new UsageError(
    `unknown command "${first}"${hint(near)}; the commands are ${groups.join(", ")}`,
  );
}

function hint(near: string | undefined): string {
  return near === undefined ? "" : ` (did you mean ${near}?)`;
}
