/** The maintenance window as a person opened it on this host: a file in the agent's folder. */
import { join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { readOwnersWord } from "../../state/owners_word.ts";

/** In the agent's folder while somebody has opened the window. */
export const OPENED_WINDOW = "etc/agent-window-open";

const MINUTE_MS = 60_000;
/** Longest time that a window can be opened for: a week. Minutes. */
export const LONGEST_WINDOW_MINUTES = 7 * 24 * 60;

/**
 * Opens the window of the agent in a folder, whether that runs or not.
 *
 * @returns until when.
 * @throws {FileError} who calls may not write there.
 */
export async function openWindow(dir: string, minutes: number, now: Date): Promise<Date> {
  const until = new Date(now.getTime() + minutes * MINUTE_MS);
  const text = JSON.stringify({ from: now.toISOString(), until: until.toISOString() });
  await writeFileAtomic(join(dir, OPENED_WINDOW), `${text}\n`, { mode: 0o644 });
  return until;
}

/** Leaves the window to the sensor again. @throws {FileError} */
export async function closeWindow(dir: string): Promise<void> {
  await removeIfExists(join(dir, OPENED_WINDOW));
}

/**
 * Until when the window is open by a person's word; undefined when it is not. A file of somebody
 * who does not own the folder's programs, one that is damaged, and one from the future (the clock
 * was set back) open nothing.
 */
export function openedUntil(dir: string, now: Date): Date | undefined {
  const text = readOwnersWord(join(dir, OPENED_WINDOW));
  if (text === undefined) return undefined;
  try {
    const { from, until } = Object(JSON.parse(text));
    const [fromMs, untilMs, nowMs] = [Date.parse(from), Date.parse(until), now.getTime()];
    const isNow = fromMs <= nowMs && nowMs < untilMs &&
      untilMs - fromMs <= LONGEST_WINDOW_MINUTES * MINUTE_MS;
    return isNow ? new Date(untilMs) : undefined;
  } catch {
    return undefined; // Not what openWindow() writes.
  }
}
