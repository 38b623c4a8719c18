/**
 * Imports that the runtime cannot foresee. Deno reads every module that it can name before the
 * program starts, imported yet or not, and keeps its text: 3 MB in machine-server, which take 5 MB.
 */

/** An import that runs when it is reached, as esbuild writes it. */
const LATER = /\bimport\("(?=\.\/)/g;
/** Makes the name an expression; the module is the same. */
const INSERTED = "0||";

export interface HiddenImports {
  readonly text: string;
  /** Where a column of a line has come to lie; both count from 0. */
  columnOf(line: number, column: number): number;
}

/** Hides which modules next to it a module imports later. */
export function hideImports(text: string): HiddenImports {
  /** Columns before which something was inserted, by line. */
  const insertions = new Map<number, number[]>();
  const lines = text.split("\n").map((line, number) =>
    line.replace(LATER, (found, at: number) => {
      const column = at + found.length - 1;
      const known = insertions.get(number);
      if (known) known.push(column);
      else insertions.set(number, [column]);
      return `${found.slice(0, -1)}${INSERTED}"`;
    })
  );
  return {
    text: lines.join("\n"),
    columnOf: (line, column) =>
      column +
      INSERTED.length * (insertions.get(line)?.filter((at) => at <= column).length ?? 0),
  };
}
