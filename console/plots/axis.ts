/** What stands at the ticks of a plot. */
import { plain } from "../design/values.ts";

/** A value as text; `more` digits than usual where values lie close together. */
export type Format = (value: number, more?: number) => string;

const MOST_MORE = 4;
/** Longer numbers are shortened to thousands, millions and so on. */
const LONG = 100_000;

/** Texts at the ticks of an axis, short, and with the digits that tell neighbours apart. */
export function tickTexts(ticks: readonly number[], format: Format, locale: string): string[] {
  const write = format === plain ? compact(ticks, locale) : format;
  let texts: string[] = [];
  for (let more = 0; more <= MOST_MORE; more++) {
    texts = ticks.map((tick) => write(tick, more));
    if (new Set(texts).size === ticks.length) break;
  }
  return texts;
}

/** Steps between ticks of whole numbers, from 1 to what any of them needs. */
export const WHOLE_STEPS: readonly number[] = Array.from(
  { length: 16 },
  (_, power) => [1, 2, 5].map((factor) => factor * 10 ** power),
).flat();

/** What stands at a time, in seconds, of an axis whose ticks are `step` seconds apart. */
export function timeTexts(locale: string): (seconds: number, step: number) => string {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { hourCycle: "h23", ...options });
  const hour = format({ hour: "2-digit", minute: "2-digit" });
  const exact = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = format({ day: "numeric", month: "short" });
  return (seconds, step) => {
    const time = new Date(seconds * 1000);
    const isDay = time.getHours() === 0 && time.getMinutes() === 0 && time.getSeconds() === 0;
    return (isDay ? day : step < 60 ? exact : hour).format(time);
  };
}

function compact(ticks: readonly number[], locale: string): Format {
  if (ticks.every((tick) => Math.abs(tick) < LONG)) return plain;
  return (value, more = 0) =>
    new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 + more })
      .format(value);
}
