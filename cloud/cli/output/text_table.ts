/** Rows as lines of columns, each as wide as its widest cell. The first row is the heading. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0))
  );
  const lines = rows.map((row) =>
    row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()
  );
  return `${lines.join("\n")}\n`;
}
