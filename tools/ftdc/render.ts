/** Shows series: a table for the terminal, an image, values for a spreadsheet. Pure. */
import type { Series } from "../../server/diagnostics/ftdc/read.ts";

const BLOCKS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588";

/** The course of a series in `width` characters: eight heights, a space where there is no value. */
export function sparkline({ times, values }: Series, width: number): string {
  const buckets = meanBuckets(times, values, width);
  const present = buckets.filter((value) => value !== undefined);
  const low = Math.min(...present);
  const span = Math.max(...present) - low;
  return buckets.map((value) => {
    if (value === undefined) return " ";
    return BLOCKS[span === 0 ? 0 : Math.min(7, Math.floor((value - low) / span * 8))];
  }).join("");
}

/** Means over `count` equal spans of time. */
function meanBuckets(
  times: readonly number[],
  values: readonly number[],
  count: number,
): (number | undefined)[] {
  const from = times[0] ?? 0;
  const span = (times.at(-1) ?? 0) - from || 1;
  const sums = new Array<number>(count).fill(0);
  const seen = new Array<number>(count).fill(0);
  times.forEach((time, i) => {
    const bucket = Math.min(count - 1, Math.max(0, Math.floor((time - from) / span * count)));
    sums[bucket]! += values[i]!;
    seen[bucket]!++;
  });
  return sums.map((sum, i) => seen[i] ? sum / seen[i]! : undefined);
}

/** Smallest, mean, largest and last value of each series with its course, in columns. */
export function table(series: readonly Series[], width = 40): string {
  const rows = series.map((one) => [
    one.name,
    String(one.values.length),
    ...[least(one.values), mean(one.values), most(one.values), one.values.at(-1) ?? 0].map(short),
    sparkline(one, width),
  ]);
  const head = ["name", "samples", "min", "mean", "max", "last", "course"];
  const widths = head.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]!.length))
  );
  const line = (row: string[]) =>
    row.map((cell, i) => i === 0 || i === 6 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))
      .join("  ").trimEnd();
  return [head, ...rows].map(line).join("\n") + "\n";
}

const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** A number in at most about eight characters. */
export function short(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  return Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3 && value !== 0
    ? value.toExponential(2)
    : String(Number(value.toPrecision(5)));
}

/** `time,name,name…` and one line a moment of the first series; a missing value stays empty. */
export function csv(series: readonly Series[]): string {
  const times = [...new Set(series.flatMap((one) => one.times))].sort((a, b) => a - b);
  const columns = series.map(({ times, values }) =>
    new Map(times.map((time, i) => [time, values[i]]))
  );
  const quote = (text: string) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return [
    ["time", ...series.map(({ name }) => quote(name))].join(","),
    ...times.map((time) =>
      [new Date(time).toISOString(), ...columns.map((column) => column.get(time) ?? "")].join(",")
    ),
  ].join("\n") + "\n";
}

const PLOT = { width: 900, height: 70, left: 340, gap: 18 } as const;
const MAX_POINTS = 600;

/** One small chart a series, one below the other, over the same time. */
export function svg(series: readonly Series[]): string {
  const from = least(series.map(({ times }) => times[0] ?? Infinity));
  const to = most(series.map(({ times }) => times.at(-1) ?? -Infinity));
  const rowHeight = PLOT.height + PLOT.gap;
  const charts = series.map((one, row) => chart(one, row * rowHeight + 30, from, to));
  const height = series.length * rowHeight + 40;
  const span = series.length === 0
    ? "no data"
    : `${new Date(from).toISOString()} \u2013 ${new Date(to).toISOString()}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${PLOT.left + PLOT.width + 20}" ` +
    `height="${height}" font-family="sans-serif" font-size="12">\n` +
    `<rect width="100%" height="100%" fill="white"/>\n<text x="10" y="18">${span}</text>\n` +
    `${charts.join("\n")}\n</svg>\n`;
}

function chart({ name, times, values }: Series, top: number, from: number, to: number): string {
  const low = least(values);
  const high = most(values);
  const step = Math.max(1, Math.ceil(times.length / MAX_POINTS));
  const x = (time: number) =>
    PLOT.left + (to === from ? 0 : (time - from) / (to - from)) * PLOT.width;
  const y = (value: number) =>
    top + PLOT.height - (high === low ? 0.5 : (value - low) / (high - low)) * PLOT.height;
  const points = times.flatMap((time, i) =>
    i % step === 0 || i === times.length - 1
      ? [`${x(time).toFixed(1)},${y(values[i]!).toFixed(1)}`]
      : []
  );
  return `<text x="10" y="${top + 14}">${escapeXml(name)}</text>` +
    `<text x="10" y="${top + 32}" fill="#666">${short(low)} \u2026 ${short(high)}</text>` +
    `<rect x="${PLOT.left}" y="${top}" width="${PLOT.width}" height="${PLOT.height}" fill="#f6f8fa"/>` +
    `<polyline fill="none" stroke="#0969da" stroke-width="1.2" points="${points.join(" ")}"/>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
