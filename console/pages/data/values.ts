/** Readings as tables and plots show them. */

import { bytes, percent, plain } from "../../design/values.ts";
import type { Format } from "../../plots/axis.ts";

/** More columns than these are shown as one, as JSON. */
const MOST_COLUMNS = 40;
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
 * Paths of the numbers in readings, as plots take them: with dots. What changes comes first, then by
 * name. Names that hold a dot themselves cannot be plotted.
 */
export function numberPaths(readings: readonly (readonly Leaf[])[]): readonly string[] {
  const values = new Map<string, Set<unknown>>();
  for (const { path, value } of readings.flat()) {
    if (typeof value !== "number" && typeof value !== "boolean") continue;
    if (path.some((name) => name === "" || name.includes("."))) continue;
    const key = path.join(".");
    values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  const isStill = (path: string) => Number(values.get(path)?.size === 1);
  return [...values.keys()].sort((a, b) => isStill(a) - isStill(b) || (a < b ? -1 : 1));
}

/** How a plot of a number writes its values, by the unit that its name ends with. */
export function formatOf(path: string): Format {
  if (path.endsWith("_bytes_per_second")) return (value, more) => `${bytes(value, more)}/s`;
  if (path.endsWith("_bytes")) return bytes;
  return path.endsWith("_percent") ? percent : plain;
}
