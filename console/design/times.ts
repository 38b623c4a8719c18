const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** "3 minutes ago" in a language; a difference below two seconds is "now". */
export function relativeTime(date: Date, now: Date, locale: string): string {
  const seconds = (date.getTime() - now.getTime()) / 1000;
  const size = Math.abs(seconds) < 2 ? 0 : Math.abs(seconds);
  const [unit, length] = UNITS.find(([, length]) => size >= length) ?? ["second", 1];
  return relativeFormat(locale).format(size === 0 ? 0 : Math.trunc(seconds / length), unit);
}

/**
 * A time in the viewer's zone: `exact` with date, milliseconds and the name of the zone, `clock` the
 * time of day with milliseconds.
 */
export function exactTime(date: Date, locale: string, form: "exact" | "clock"): string {
  return timeFormat(`${form} ${locale}`).format(date);
}

/** Making a format takes a hundred times as long as using it, and lists of times use many. */
function once<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>();
  return (key) => {
    const found = made.get(key) ?? make(key);
    made.set(key, found);
    return found;
  };
}

const relativeFormat = once((locale) => new Intl.RelativeTimeFormat(locale, { numeric: "auto" }));

const CLOCK = {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
} as const;
const DAY = { year: "numeric", month: "short", day: "numeric", timeZoneName: "short" } as const;

const timeFormat = once((key) => {
  const [form = "", locale = ""] = key.split(" ");
  return new Intl.DateTimeFormat(locale, form === "exact" ? { ...DAY, ...CLOCK } : CLOCK);
});

/** A span of time in two units at most: "3 d 4 h", "12 min", "5 s". */
export function duration(seconds: number): string {
  const parts: readonly (readonly [string, number])[] = [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
  ];
  const at = parts.findIndex(([, length]) => seconds >= length);
  if (at < 0) return "0 s";
  let left = Math.floor(seconds);
  const said: string[] = [];
  for (const [name, length] of parts.slice(at, at + 2)) {
    const count = Math.floor(left / length);
    left -= count * length;
    if (count > 0) said.push(`${count} ${name}`);
  }
  return said.join(" ");
}

/** A time as `datetime-local` fields show it, in the viewer's zone, to the second. */
export function toField(time: number): string {
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return Number.isNaN(local.getTime()) ? "" : local.toISOString().slice(0, 19);
}

/** What a `datetime-local` field holds as it stands in an address; empty: no time. */
export function fromField(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}
