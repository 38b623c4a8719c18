/** Readings as tables and plots show them. */

/** More columns than these are shown as one, as JSON. */
const MOST_COLUMNS = 12;
const DEEPEST = 8;

/** A value of a reading with where it stands. */
export interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Every value of a reading that is no object; a list is one value. */
export function leavesOf(value: unknown, path: readonly string[] = []): readonly Leaf[] {
  if (
    path.length >= DEEPEST || typeof value !== "object" || value === null || Array.isArray(value)
  ) {
    return [{ path, value }];
  }
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}

/** The path without the `readings` that all of a sensor have in common. */
export function titleOf(path: readonly string[]): string {
  return (path[0] === "readings" && path.length > 1 ? path.slice(1) : path).join(" · ");
}

/** Columns of a table of readings: title and cells by title; undefined: too many. */
export function columnsOf(readings: readonly (readonly Leaf[])[]): readonly string[] | undefined {
  const titles = new Set(readings.flatMap((leaves) => leaves.map(({ path }) => titleOf(path))));
  return titles.size > MOST_COLUMNS ? undefined : [...titles];
}

/**
 * Paths of the numbers in readings, as plots take them: with dots. Names that hold a dot themselves
 * cannot be plotted.
 */
export function numberPaths(readings: readonly (readonly Leaf[])[]): readonly string[] {
  const found = readings.flat()
    .filter(({ value }) => typeof value === "number" || typeof value === "boolean")
    .filter(({ path }) => path.every((name) => name !== "" && !name.includes(".")))
    .map(({ path }) => path.join("."));
  return [...new Set(found)].sort();
}
