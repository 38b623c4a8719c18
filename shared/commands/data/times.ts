import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { UsageError } from "../../base/flags/flags.ts";

/** What options say of a span of time; undefined: from the first or to the last. */
export interface SpanFlags {
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** The times of `--from` and `--to`. @throws {UsageError} for a text that is no time */
export function spanOf({ from, to }: SpanFlags): { start?: Timestamp; end?: Timestamp } {
  const [start, end] = [timeOf("--from", from), timeOf("--to", to)];
  if (start && end && start >= end) throw new UsageError("--from is not before --to");
  return {
    ...(start ? { start: timestampFromDate(start) } : {}),
    ...(end ? { end: timestampFromDate(end) } : {}),
  };
}

/** A time of an option. @throws {UsageError} */
export function timeOf(flag: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  throw new UsageError(
    `${flag}: ${JSON.stringify(text)} is no time; write 2026-01-02 or 2026-01-02T03:04:05Z`,
  );
}
