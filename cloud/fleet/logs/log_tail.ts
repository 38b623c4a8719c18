import type { LogLine } from "./log_line.ts";
import { Mailbox } from "../../api/streams/mailbox.ts";

/** Lines that wait for a slow reader, at most; older ones are left out. */
const WAITING_LINES = 5_000;

/** Passes new lines on to whoever reads along. */
export class LogTail {
  readonly #readers = new Map<string, Set<Mailbox<LogLine>>>();

  publish(partId: string, lines: readonly LogLine[]): void {
    const readers = this.#readers.get(partId);
    if (!readers || lines.length === 0) return;
    for (const reader of readers) reader.put(...lines);
  }

  /** Everything that is published for a part from now on. Close the mailbox when done. */
  follow(partId: string): Mailbox<LogLine> {
    const readers = this.#readers.get(partId) ?? new Set();
    this.#readers.set(partId, readers);
    const mailbox = new Mailbox<LogLine>(WAITING_LINES, () => {
      readers.delete(mailbox);
      if (readers.size === 0) this.#readers.delete(partId);
    });
    readers.add(mailbox);
    return mailbox;
  }
}
