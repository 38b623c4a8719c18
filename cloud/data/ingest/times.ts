import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";

/** Whole microseconds since 1970; undefined for what is no time between the years 1684 and 2255. */
export function microseconds({ seconds, nanos }: Timestamp): number | undefined {
  if (nanos < 0 || nanos > 999_999_999) return undefined;
  const us = Number(seconds) * 1_000_000 + Math.floor(nanos / 1_000);
  return Number.isSafeInteger(us) ? us : undefined;
}

export function timestampOf(us: number): Timestamp {
  const seconds = Math.floor(us / 1_000_000);
  const nanos = (us - seconds * 1_000_000) * 1_000;
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos });
}

/** To the millisecond. */
export function dateOf(us: number): Date {
  return new Date(Math.floor(us / 1_000));
}

/** `2026-01-02T03:04:05.678901Z`; texts of this form sort like their times. */
export function isoText(us: number): string {
  const micros = us - Math.floor(us / 1_000) * 1_000;
  return dateOf(us).toISOString().replace("Z", `${String(micros).padStart(3, "0")}Z`);
}
