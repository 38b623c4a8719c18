interface FlagBase {
  /** What it does, as a sentence for the help. */
  readonly doc: string;
  /** Other names, with one letter or more, without dashes: `["c"]`. */
  readonly aliases?: readonly string[];
  /** Environment variable that gives the value when the command line does not. Empty is unset. */
  readonly env?: string;
  /** Not listed in the help. */
  readonly hidden?: boolean;
}

/** True or false; false unless given. `-x` is true, false has to be written `-x=false`. */
export interface BooleanFlag extends FlagBase {
  readonly type: "boolean";
  readonly default?: boolean;
}

/** Any text. */
export interface StringFlag extends FlagBase {
  readonly type: "string";
  readonly default?: string;
  readonly required?: boolean;
  /** What stands for the value in the help: FILE. Default VALUE. */
  readonly placeholder?: string;
  /** The only texts allowed. */
  readonly choices?: readonly string[];
}

/** A whole number. */
export interface IntegerFlag extends FlagBase {
  readonly type: "integer";
  readonly default?: number;
  readonly required?: boolean;
  /** What stands for the value in the help. Default N. */
  readonly placeholder?: string;
  readonly min?: number;
  readonly max?: number;
}

/** Texts: the flag may be given several times, and all of them count. None unless given. */
export interface ListFlag extends FlagBase {
  readonly type: "list";
  readonly default?: undefined;
  readonly required?: false;
  /** What stands for one value in the help: KEY=VALUE. Default VALUE. */
  readonly placeholder?: string;
}

export type Flag = BooleanFlag | StringFlag | IntegerFlag | ListFlag;

/** The flags of a program by their full name, without dashes. */
export type FlagTable = Readonly<Record<string, Flag>>;

/** What a program or a subcommand takes. `help` with `-h` is always there. */
export interface FlagSpec<T extends FlagTable = FlagTable> {
  /** How it is called: `machine-agent`, `machine-cloud serve`. */
  readonly program: string;
  /** What it does, one line. */
  readonly summary: string;
  readonly flags: T;
  /** How flags are written in the help and in errors; both are always accepted. Default `--`. */
  readonly dashes?: "-" | "--";
  /** Arguments that are not flags, in order. Default: none are accepted. */
  readonly arguments?: readonly ArgumentSpec[];
  /** Lines after the list of options. */
  readonly footer?: string;
}

/** An argument that is not a flag. */
export interface ArgumentSpec {
  /** What stands for it in the help: FILE. */
  readonly placeholder: string;
  readonly doc: string;
  readonly optional?: boolean;
}

type Always = { readonly default: string | number } | { readonly required: true };
type Value<F extends Flag> = F extends { readonly choices: readonly (infer C)[] } ? C
  : F extends IntegerFlag ? number
  : string;

/** The type of one flag's value. */
export type FlagValue<F extends Flag> = F extends BooleanFlag ? boolean
  : F extends ListFlag ? readonly string[]
  : F extends Always ? Value<F>
  : Value<F> | undefined;

/** The values of all flags, by full name. */
export type FlagValues<T extends FlagTable> = { readonly [K in keyof T]: FlagValue<T[K]> };

/** A command line that was understood. */
export interface ParsedFlags<T extends FlagTable> {
  readonly values: FlagValues<T>;
  /** The flags that the command line or the environment set; the others have their defaults. */
  readonly given: ReadonlySet<keyof T & string>;
  /** Arguments that are not flags, as many as the spec allows. */
  readonly arguments: readonly string[];
  /** Help was requested: print `renderHelp(spec)` and end with 0. Nothing else was checked. */
  readonly help: boolean;
}
