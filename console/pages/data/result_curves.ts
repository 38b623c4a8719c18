/** Results of queries as plots. */
import type { Curves } from "../../plots/curves.ts";
import type { Result } from "./results.ts";

/** What of a result can be plotted, and along what. */
export interface ResultPlots {
  /** Columns that may stand along the axis, times first. */
  readonly axes: readonly string[];
  /** The one that does. */
  readonly axis: string;
  /** One for each column of numbers. */
  readonly plots: readonly { readonly title: string; readonly curves: Curves }[];
}

type Kind = "time" | "text" | "number";
type Row = ReadonlyMap<string, unknown>;

const MOST_PLOTS = 12;
/** A column of more values makes no lines of its own. */
const MOST_LINES = 6;
const DEEPEST = 8;
/** As SQLite and JSON write times; without a zone they are in UTC. */
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * The plots of a result: along times where it has any, else along names, else along its first
 * numbers. A column with few names makes a line of each of them.
 *
 * @param wanted the column along the axis
 * @returns undefined where it holds nothing to plot
 */
export function plotsOf({ rows }: Result, wanted = ""): ResultPlots | undefined {
  const flat = rows.map((row) => flattened(row));
  const kinds = kindsOf(flat);
  const of = (kind: Kind) => [...kinds].flatMap(([name, each]) => (each === kind ? [name] : []));
  const numbers = of("number");
  const axes = [...of("time"), ...of("text"), ...numbers]
    .filter((name) => numbers.some((each) => each !== name));
  const axis = axes.includes(wanted) ? wanted : axes[0];
  if (axis === undefined) return undefined;
  const shown = numbers.filter((name) => name !== axis).slice(0, MOST_PLOTS);
  if (kinds.get(axis) === "text") {
    const names = flat.map((row) => String(row.get(axis) ?? ""));
    const plots = shown.map((title) => ({
      title,
      curves: {
        ...{ names: [title], axis: names },
        columns: [flat.map((_, at) => at), flat.map((row) => numberIn(row, title))],
      } satisfies Curves,
    }));
    return { axes, axis, plots };
  }
  const kind = kinds.get(axis) === "time" ? "time" : "number";
  const placed = flat.flatMap((row) => {
    const at = kind === "time" ? secondsIn(row.get(axis)) : numberIn(row, axis);
    return at === null || at === undefined ? [] : [{ at, row }];
  }).sort((a, b) => a.at - b.at);
  const by = of("text").map((name) => ({
    name,
    values: [...new Set(flat.map((row) => String(row.get(name) ?? "")))],
  })).find(({ values }) => values.length > 1 && values.length <= MOST_LINES);
  const plots = shown.map((title) => ({
    title,
    curves: {
      ...{ names: by?.values ?? [title], axis: kind },
      columns: [
        placed.map(({ at }) => at),
        ...(by?.values ?? [undefined]).map((value) =>
          placed.map(({ row }) =>
            !by || String(row.get(by.name) ?? "") === value ? numberIn(row, title) : null
          )
        ),
      ],
    } satisfies Curves,
  }));
  return { axes, axis, plots };
}

function flattened(value: object, path = "", into = new Map<string, unknown>(), depth = 1): Row {
  for (const [name, inner] of Object.entries(value)) {
    const at = path === "" ? name : `${path} · ${name}`;
    const isPlain = typeof inner === "object" && inner !== null &&
      Object.getPrototypeOf(inner) === Object.prototype;
    if (isPlain && depth < DEEPEST) flattened(inner, at, into, depth + 1);
    else into.set(at, inner);
  }
  return into;
}

function kindsOf(rows: readonly Row[]): ReadonlyMap<string, Kind> {
  const kinds = new Map<string, Kind | "none">();
  for (const row of rows) {
    for (const [name, value] of row) {
      if (value === null || value === undefined) continue;
      const kind = kindOf(value);
      const before = kinds.get(name) ?? kind;
      const isText = [kind, before].every((each) => each === "text" || each === "time");
      kinds.set(name, kind === before ? kind : isText ? "text" : "none");
    }
  }
  return new Map([...kinds].flatMap(([name, kind]) => (kind === "none" ? [] : [[name, kind]])));
}

function kindOf(value: unknown): Kind | "none" {
  if (typeof value === "number") return Number.isFinite(value) ? "number" : "none";
  if (secondsIn(value) !== undefined) return "time";
  return typeof value === "string" || typeof value === "boolean" ? "text" : "none";
}

function secondsIn(value: unknown): number | undefined {
  const time = value instanceof Date ? value.getTime() : milliseconds(value);
  return Number.isNaN(time) ? undefined : time / 1000;
}

function milliseconds(value: unknown): number {
  const found = typeof value === "string" ? TIME.exec(value) : null;
  if (!found) return NaN;
  const text = found[0].replace(" ", "T");
  return Date.parse(text.includes("T") && found[1] === undefined ? `${text}Z` : text);
}

function numberIn(row: Row, name: string): number | null {
  const value = row.get(name);
  return typeof value === "number" ? value : null;
}
