/** The `schedule` of a job. */
import { durationMs } from "./forms.ts";

/** When a job runs. */
export type Schedule =
  /** Again as soon as the run before has ended. */
  | { readonly kind: "continuous" }
  /** `ms` milliseconds from one start to the next. */
  | { readonly kind: "interval"; readonly ms: number }
  /**
   * By the calendar: 5 fields (minute, hour, day of month, month, day of week), 6 with seconds in
   * front, or a nickname such as `@daily`. Without a time zone that of the host.
   */
  | { readonly kind: "cron"; readonly expression: string; readonly timeZone?: string };

/** A text is no schedule; the message says why. */
export class ScheduleError extends Error {
  override readonly name = "ScheduleError";
}

/** What a schedule may be, for error messages. */
export const SCHEDULE_ALLOWED =
  "a duration such as 5m, a cron expression of 5 or 6 fields, or continuous";

const NICKNAME = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/;
const TIME_ZONE = /^(?:CRON_)?TZ=(\S+)\s+/;

/** One field of a cron expression. */
interface Field {
  readonly what: string;
  readonly min: number;
  readonly max: number;
  /** The largest step. */
  readonly steps: number;
  /** Names in place of numbers, the first for `min`. */
  readonly names?: readonly string[];
  /** Forms that only this field has. */
  readonly special?: RegExp;
}

const SECOND: Field = { what: "second", min: 0, max: 59, steps: 60 };
const FIELDS: readonly Field[] = [
  { what: "minute", min: 0, max: 59, steps: 60 },
  { what: "hour", min: 0, max: 23, steps: 24 },
  // The last day, the last working day, the working day nearest to a day.
  {
    what: "day of month",
    min: 1,
    max: 31,
    steps: 31,
    special: /^(?:LW?|0?[1-9]W|[12]\dW|3[01]W)$/,
  },
  {
    ...{ what: "month", min: 1, max: 12, steps: 12 },
    names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
  },
  {
    ...{ what: "day of week", min: 0, max: 7, steps: 7 },
    names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
    // The second Friday of a month, the last Friday.
    special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:#[1-5L]|L)$/,
  },
];

/**
 * Reads a schedule. Needs no cron library, so that every program can check configurations.
 *
 * @throws {ScheduleError}
 */
export function parseSchedule(text: string): Schedule {
  if (text === "continuous") return { kind: "continuous" };
  const ms = durationMs(text);
  if (ms !== undefined) {
    if (ms > 0) return { kind: "interval", ms };
    throw new ScheduleError("the interval is not longer than 0");
  }
  const timeZone = TIME_ZONE.exec(text)?.[1];
  if (timeZone !== undefined) checkTimeZone(timeZone);
  const expression = text.replace(TIME_ZONE, "").trim();
  if (!NICKNAME.test(expression)) checkFields(expression.split(/\s+/));
  return { kind: "cron", expression, ...(timeZone !== undefined && { timeZone }) };
}

function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
  } catch {
    throw new ScheduleError(`there is no time zone ${timeZone}`);
  }
}

function checkFields(texts: readonly string[]): void {
  if (texts.length !== 5 && texts.length !== 6) throw new ScheduleError("this is not a schedule");
  const fields = texts.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  fields.forEach((field, at) => {
    for (const entry of (texts[at] ?? "").toUpperCase().split(",")) checkEntry(field, entry);
  });
}

function checkEntry(field: Field, entry: string): void {
  if (field.special?.test(entry)) return;
  const parts = /^([^/]+)(?:\/(\d+))?$/.exec(entry);
  const [, span = "", step] = parts ?? [];
  const wrong = (why: string) =>
    new ScheduleError(`${field.what} ${JSON.stringify(entry)} of the cron expression ${why}`);
  if (!parts) throw wrong("has not the form of one");
  if (step !== undefined && (Number(step) < 1 || Number(step) > field.steps)) {
    throw wrong(`has a step outside 1 to ${field.steps}`);
  }
  if (span === "*" || span === "?") return;
  const [first = "", last, ...more] = span.split("-");
  const from = valueOf(field, first);
  const to = last === undefined ? from : valueOf(field, last);
  if (from === undefined || to === undefined || more.length > 0) {
    throw wrong(`is not within ${field.min} to ${field.max}`);
  }
  // Sunday is 0 and 7: a range may end with it.
  const end = to === 0 && last === "SUN" ? 7 : to;
  if (from > end) throw wrong("is a range that runs backwards");
}

/** Undefined for what is no value of the field. */
function valueOf(field: Field, text: string): number | undefined {
  const name = field.names?.indexOf(text) ?? -1;
  if (name >= 0) return field.min + name;
  if (!/^\d{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= field.min && value <= field.max ? value : undefined;
}
