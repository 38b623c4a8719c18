/** A line of two texts: of both, only of the old, only of the new. */
export interface Line {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** The lines of two texts, in order, with as many of both as can be. */
export function lineDifference(before: string, after: string): Line[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  const longest = a.map(() => new Uint32Array(b.length + 1));
  longest.push(new Uint32Array(b.length + 1));
  const common = (i: number, j: number) => longest[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = longest[i];
      if (!row) continue;
      row[j] = a[i] === b[j]
        ? common(i + 1, j + 1) + 1
        : Math.max(common(i + 1, j), common(i, j + 1));
    }
  }
  const lines: Line[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i++] ?? "" });
      j++;
    } else if (j >= b.length || (i < a.length && common(i + 1, j) >= common(i, j + 1))) {
      lines.push({ kind: "removed", text: a[i++] ?? "" });
    } else lines.push({ kind: "added", text: b[j++] ?? "" });
  }
  return lines;
}
