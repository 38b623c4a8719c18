import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import type { Clock } from "../../base/time/clock.ts";
import type { ArgumentSpec, CommandTable, FlagTable, FlagValues } from "../../base/flags/flags.ts";
import type { Terminal } from "../output/terminal.ts";

/** A cloud that commands work with, wherever it is. They know it by its API only. */
export interface CommandCloud {
  readonly transport: Transport;
  /** Where it is, for messages: its address, or the data folder. */
  readonly name: string;
  /** A file below the cloud's address, by GET with the caller's credentials: `data/export`. */
  download(path: string, query: Readonly<Record<string, string>>): Promise<Response>;
  /**
   * A connection to a machine's own port with the caller's credentials.
   *
   * @param address `http://host:port`
   * @throws {UsageError} where there are no credentials that a machine takes
   */
  atMachine(address: string): { readonly transport: Transport; close(): void };
}

/** What a command has to work with. */
export interface CommandContext {
  /** The program, for hints: `machine`. */
  readonly program: string;
  /** How a command of the shared trees is typed in this program: `trigger set`, `machine triggers set`. */
  commandLine(name: string): string;
  readonly clock: Clock;
  readonly random: { uuid(): string };
  /** What `--org` says: id, name or namespace. */
  readonly organization: string | undefined;
  /** Print JSON. */
  readonly json: boolean;
  /** Print ids only, and no progress. */
  readonly quiet: boolean;
  readonly terminal: Terminal;
  /** Connects when first asked. */
  cloud(): Promise<CommandCloud>;
  /** Writes to standard output at once; what a command returns is printed after it. */
  write(bytes: Uint8Array): Promise<void>;
  /** Writes a line for people to standard error. */
  warn(text: string): void;
}

/** What a command needs that talks with the cloud alone. */
export type CloudContext = Pick<
  CommandContext,
  "cloud" | "organization" | "program" | "commandLine"
>;

/** What a command found or did. */
export interface Output {
  /** What `--json` prints, as one line; undefined prints nothing. */
  readonly json: unknown;
  /** For people, ends with a line feed. */
  readonly text: string;
  /** What `--quiet` prints, a line each: ids. Left out: nothing. */
  readonly ids?: readonly string[];
  /** What did not work, said after it is printed: the program ends with 1. Left out: all worked. */
  readonly failure?: string | undefined;
}

/** What was typed after the name of a command. */
export interface CommandInput<T extends FlagTable> {
  readonly values: FlagValues<T>;
  readonly arguments: readonly string[];
}

/** A command: what it takes and what it does. */
export interface Command {
  /** What it does, one line. */
  readonly summary: string;
  readonly flags: FlagTable;
  readonly arguments?: readonly ArgumentSpec[];
  /**
   * The word of the command next to it that lists what it acts on, for those who name what is not
   * there; empty: none does. Default: `list`.
   */
  readonly listedBy?: string;
  /**
   * What it makes and prints once, such as `key`. `--quiet`, which would lose it, is refused. Left
   * out: nothing.
   */
  readonly showsOnce?: string;
  /** Lines after the list of options: examples. */
  readonly footer?: string;
  /** Nothing is returned by commands that have written everything. */
  run(context: CommandContext, input: CommandInput<FlagTable>): Promise<Output | void>;
}

/** Commands by their name, which has one to three words. */
export type CommandTree = Readonly<Record<string, Command>>;

/** Makes a command; `run` sees the values of its own flags by their types. */
export function command<const T extends FlagTable>(
  spec: Omit<Command, "flags" | "run"> & {
    readonly flags: T;
    run(context: CommandContext, input: CommandInput<T>): Promise<Output | void>;
  },
): Command {
  // What runs it has parsed with this very table.
  return spec as unknown as Command;
}

/** One of the commands of a table, as a command line requests it. */
export type CommandOf<C extends CommandTable> = {
  [K in keyof C & string]: { readonly command: K } & CommandInput<C[K]["flags"]>;
}[keyof C & string];

/** A client of one of the cloud's services. */
export async function clientOf<S extends DescService>(
  context: Pick<CommandContext, "cloud">,
  service: S,
): Promise<Client<S>> {
  return createClient(service, (await context.cloud()).transport);
}

/** What a command says that did something: a sentence, and what it did it to. */
export function done(json: Readonly<Record<string, unknown>>, text: string): Output {
  return { json, text: `${text}\n`, ids: typeof json["id"] === "string" ? [json["id"]] : [] };
}

/** Other first words of commands: `{ module: "modules" }`. */
export type FirstWords = Readonly<Record<string, string>>;

/** The same commands below other first words. */
export function renamed(tree: CommandTree, words: FirstWords): CommandTree {
  return Object.fromEntries(
    Object.entries(tree).map(([name, each]) => [renamedCommand(name, words), each]),
  );
}

/** The name of one command below other first words. */
export function renamedCommand(name: string, words: FirstWords): string {
  const [first = "", ...rest] = name.split(" ");
  return [words[first] ?? first, ...rest].join(" ");
}
