import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** `2026-01-02T03:04:05` in UTC, for tables; `-` for none. */
export function timeText(time: Timestamp | undefined): string {
  return time ? isoTime(time)!.slice(0, 19) : "-";
}

/** `2026-01-02T03:04:05.678Z`, for JSON; null for none. */
export function isoTime(time: Timestamp | undefined): string | null {
  return time ? new Date(timestampMs(time)).toISOString() : null;
}
