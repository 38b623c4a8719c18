/** Columns are not made narrower than this to fit a terminal. */
const NARROWEST = 8;
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/**
 * Rows as lines of columns, each as wide as its widest cell. The first row is the heading. What is
 * wider than the terminal is cut at its widest columns. Control characters of cells are shown as
 * `?`, so that a name cannot move the cursor.
 *
 * @param columns of the terminal; left out: as wide as needed
 */
export function textTable(rows: readonly (readonly string[])[], columns?: number): string {
  const clean = rows.map((row) => row.map((cell) => cell.replace(CONTROL, "?")));
  const widths = (clean[0] ?? []).map((_, at) =>
    Math.max(...clean.map((row) => row[at]?.length ?? 0))
  );
  if (columns !== undefined) narrow(widths, columns);
  const lines = clean.map((row) =>
    row.map((cell, at) => fit(cell, widths[at] ?? 0)).join("  ").trimEnd()
  );
  return `${lines.join("\n")}\n`;
}

function narrow(widths: number[], columns: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1));
  while (total() > columns) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) return;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
}

function fit(cell: string, width: number): string {
  return cell.length <= width ? cell.padEnd(width) : `${cell.slice(0, width - 1)}…`;
}
