import { parseArgs } from "node:util";
import { nearestName } from "./nearest.ts";
import type { BooleanFlag, Flag, FlagSpec, FlagTable, FlagValues, ParsedFlags } from "./spec.ts";
import { UsageError } from "./usage_error.ts";
import { defaultValue, parseValue } from "./values.ts";

/** Reads an environment variable. */
export type ReadEnv = (name: string) => string | undefined;

const HELP: BooleanFlag = { type: "boolean", aliases: ["h"], doc: "Show this help." };

/**
 * Reads a command line the way Go's flag package does: `-x v`, `-x=v`, `--x v` and `--x=v` are the
 * same, a value may start with a dash, a boolean is made false only by `-x=false`, of a flag given
 * twice the last one counts unless it is a list, `--` ends the flags. Unlike in Go, flags may also follow arguments.
 *
 * @param argv without the program's name: `Deno.args`.
 * @throws {UsageError} that names the flag and what is allowed.
 */
export function parseFlags<const T extends FlagTable>(
  argv: readonly string[],
  spec: FlagSpec<T>,
  env: ReadEnv = (name) => Deno.env.get(name),
): ParsedFlags<T> {
  const reader = new Reader(spec);
  const { normal, help } = reader.normalise(argv);
  const { values, positionals } = parseArgs({
    args: normal,
    options: Object.fromEntries(
      Object.entries<Flag>(spec.flags)
        .map(([name, flag]) => [name, { type: "string", multiple: flag.type === "list" }]),
    ),
    allowPositionals: true,
  });
  if (help) {
    return { values: reader.values({}, () => undefined), given: new Set(), arguments: [], help };
  }
  const given = new Set<keyof T & string>();
  const parsed = reader.values(values, env, given);
  reader.checkRequired(parsed);
  reader.checkArguments(positionals, argv);
  return { values: parsed, given, arguments: positionals, help };
}

/** Reads one command line against one spec. */
class Reader<T extends FlagTable> {
  readonly #spec: FlagSpec<T>;
  readonly #names = new Map<string, string>([["help", "help"], ["h", "help"]]);

  constructor(spec: FlagSpec<T>) {
    this.#spec = spec;
    for (const [name, flag] of Object.entries(spec.flags)) {
      for (const alias of [name, ...flag.aliases ?? []]) this.#names.set(alias, name);
    }
  }

  /** Rewrites every flag as `--name=value`; stops where help is requested. */
  normalise(argv: readonly string[]): { normal: string[]; help: boolean } {
    const normal: string[] = [];
    for (let index = 0; index < argv.length; index++) {
      const argument = argv[index] ?? "";
      if (argument === "--") return { normal: [...normal, ...argv.slice(index)], help: false };
      const found = /^--?([^-=][^=]*)(?:=([^]*))?$/.exec(argument);
      if (!found) {
        if (argument.startsWith("-") && argument !== "-") throw this.#unknown(argument);
        normal.push(argument);
        continue;
      }
      const name = this.#names.get(found[1] ?? "");
      if (name === undefined) throw this.#unknown(argument);
      const flag = this.#flag(name);
      let value = found[2];
      if (value === undefined) {
        value = flag.type === "boolean" ? "true" : argv[++index];
        if (value === undefined) throw this.#missing(name, flag);
      }
      if (name !== "help") normal.push(`--${name}=${value}`);
      else if (parseValue(HELP, value, "--help")) return { normal: [], help: true };
    }
    return { normal, help: false };
  }

  /** The value of every flag: from the command line, else the environment, else the default. */
  values(
    texts: Readonly<Record<string, unknown>>,
    env: ReadEnv,
    given?: Set<keyof T & string>,
  ): FlagValues<T> {
    const values: Record<string, unknown> = {};
    for (const [name, flag] of Object.entries<Flag>(this.#spec.flags)) {
      const typed = texts[name];
      const inherited = flag.env === undefined ? undefined : env(flag.env) || undefined;
      if (flag.type === "list") {
        values[name] = typed ?? (inherited === undefined ? [] : [inherited]);
        if (typed === undefined && inherited === undefined) continue;
      } else if (typeof typed === "string") {
        values[name] = parseValue(flag, typed, this.#written(name));
      } else if (inherited !== undefined) {
        values[name] = parseValue(flag, inherited, `the environment variable ${flag.env}`);
      } else {
        values[name] = defaultValue(flag);
        continue;
      }
      given?.add(name);
    }
    return values as FlagValues<T>;
  }

  checkRequired(values: FlagValues<T>): void {
    const missing = Object.entries<Flag>(this.#spec.flags)
      .filter(([name, flag]) =>
        flag.type !== "boolean" && flag.required && values[name] === undefined
      )
      .map(([name, flag]) => {
        const choices = flag.type === "string" ? flag.choices ?? [] : [];
        return [this.#written(name), choices.join("|")].join(" ").trimEnd();
      });
    if (missing.length > 0) throw this.#error(`${missing.join(" and ")} must be given`);
  }

  checkArguments(found: readonly string[], argv: readonly string[]): void {
    const expected = this.#spec.arguments ?? [];
    const extra = found[expected.length];
    if (extra !== undefined) {
      throw this.#error(`unexpected argument "${extra}"${this.#why(extra, argv)}`);
    }
    const missing = expected[found.length];
    if (missing && !missing.optional) throw this.#error(`${missing.placeholder} is missing`);
  }

  /** `-debug false` does not set debug to false; say what does. */
  #why(extra: string, argv: readonly string[]): string {
    const before = argv[argv.indexOf(extra) - 1] ?? "";
    const name = this.#names.get(before.replace(/^--?/, ""));
    if (!before.startsWith("-") || name === undefined || this.#flag(name).type !== "boolean") {
      return "";
    }
    return `; a true-or-false option is written ${this.#written(name)}=${extra}`;
  }

  #flag(name: string): Flag {
    return this.#spec.flags[name] ?? HELP;
  }

  #written(name: string): string {
    return `${this.#spec.dashes ?? "--"}${name}`;
  }

  #missing(name: string, flag: Flag): UsageError {
    const form = flag.type === "integer" ? "a whole number" : "a value";
    return this.#error(`${this.#written(name)} needs ${form}`);
  }

  #unknown(argument: string): UsageError {
    const written = argument.split("=", 1)[0] ?? argument;
    const visible = Object.entries<Flag>(this.#spec.flags).filter(([, flag]) => !flag.hidden);
    const near = nearestName(written.replace(/^-+/, ""), [
      "help",
      ...visible.map(([name]) => name),
    ]);
    const hint = near === undefined ? "" : ` (did you mean ${this.#written(near)}?)`;
    return this.#error(`unknown option ${written}${hint}`);
  }

  #error(problem: string): UsageError {
    return new UsageError(
      `${problem}; ${this.#spec.program} ${this.#written("help")} lists what is allowed`,
    );
  }
}
