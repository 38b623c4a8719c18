/** What standard output and standard error are, for how texts look. */
export interface Terminal {
  /** Standard output is read by a person. */
  readonly isOutput: boolean;
  /** Standard input is typed by a person. */
  readonly isInput: boolean;
  /** Standard error is read by a person. */
  readonly isError: boolean;
  /** Columns of the terminal; undefined where there is none. */
  readonly columns: number | undefined;
  /** Colours may be used. */
  readonly colours: boolean;
  /** Writes to standard error at once, without a line feed: what shows how far something is. */
  draw(text: string): void;
}

/** What this process is attached to. `NO_COLOR` (any text) and `TERM=dumb` turn colours off. */
export function systemTerminal(env: (name: string) => string | undefined): Terminal {
  const isOutput = Deno.stdout.isTerminal();
  return {
    isOutput,
    isInput: Deno.stdin.isTerminal(),
    isError: Deno.stderr.isTerminal(),
    columns: isOutput ? Deno.consoleSize().columns : undefined,
    colours: mayColour(isOutput, env),
    draw: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(text)),
  };
}

/** Whether what a person reads may have colours. */
export function mayColour(
  isTerminal: boolean,
  env: (name: string) => string | undefined,
): boolean {
  return isTerminal && !env("NO_COLOR") && env("TERM") !== "dumb";
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

/** A text in a colour, where the terminal has colours. */
export function paint(terminal: Terminal, colour: keyof typeof CODES, text: string): string {
  return terminal.colours ? `\x1b[${CODES[colour]}m${text}\x1b[0m` : text;
}
