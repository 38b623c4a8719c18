/** What a power cut leaves of a file that was being downloaded. */
import { uptime } from "node:os";
import { PIECE_BYTES } from "./pieces.ts";

/**
 * So much is brought to the disk at a time: a power cut spoils no more than this and a piece. Bytes.
 */
export const SYNC_BYTES = 8 * 1024 * 1024;
/** The clock and the time since the start are not read at the same moment. */
const MARGIN_MS = 2_000;

/** Which of the spans of {@link SYNC_BYTES} a byte is in. */
export const spanOf = (bytes: number): number => Math.floor(bytes / SYNC_BYTES);

/** Now, and when this host started. Milliseconds since 1970. */
export interface SystemTimes {
  readonly nowMs: number;
  readonly bootedMs: number;
}

export function systemTimes(): SystemTimes {
  const nowMs = Date.now();
  return { nowMs, bootedMs: nowMs - uptime() * 1_000 };
}

/**
 * How many bytes of a partial file are what was written. Since the host's last start the system
 * knows them all. What is older may have lost its end to a power cut, while the file kept its
 * length: then only spans count behind which there is more than a piece, because that was written
 * when they were on the disk. A file from the future is taken for an old one.
 */
export function soundBytes(
  { size, mtime }: { readonly size: number; readonly mtime: Date | null },
  { nowMs, bootedMs }: SystemTimes,
): number {
  const writtenMs = mtime?.getTime() ?? 0;
  const isFresh = writtenMs > bootedMs + MARGIN_MS && writtenMs <= nowMs + MARGIN_MS;
  if (isFresh) return size;
  return Math.max(0, spanOf(size - PIECE_BYTES) * SYNC_BYTES);
}
