import type { JournalLine } from "./journal_line.ts";

/** From where the journal is read. */
export interface Resume {
  /** For journalctl. */
  readonly args: readonly string[];
  /** Whether a line was read before. */
  readonly isKnown: (line: Pick<JournalLine, "boot" | "monotonicUs" | "realtimeUs">) => boolean;
}

/** What a cursor of the journal says of its line. */
export interface CursorFacts {
  readonly boot: string;
  readonly monotonicUs: number;
  readonly realtimeUs: number;
}

/** Reads a cursor; undefined when it is none. */
export function parseCursor(cursor: string): CursorFacts | undefined {
  const parts = new Map(
    cursor.split(";").map((part): [string, string] => [part.slice(0, 2), part.slice(2)]),
  );
  const boot = parts.get("b=") ?? "";
  const monotonicUs = Number.parseInt(parts.get("m=") ?? "", 16);
  const realtimeUs = Number.parseInt(parts.get("t=") ?? "", 16);
  if (boot === "" || Number.isNaN(monotonicUs) || Number.isNaN(realtimeUs)) return undefined;
  return { boot, monotonicUs, realtimeUs };
}

/** Whether both are of the same line. */
export function isSameLine(a: CursorFacts | undefined, b: CursorFacts | undefined): boolean {
  return a !== undefined && b !== undefined && a.boot === b.boot &&
    a.monotonicUs === b.monotonicUs && a.realtimeUs === b.realtimeUs;
}

/**
 * How to continue after a line.
 *
 * A journal that still has the line knows what came after it, whatever the clock did. One that has
 * it no more (kept in memory and lost by a start, or grown beyond its limit) is read from its
 * beginning. There the same start of the host is recognised by its own time, which nobody can set;
 * this start, if it is another one, is new as a whole, also when the clock was set back; and of
 * starts in between nothing but the clock is known.
 *
 * @param isThere whether the journal has the line
 * @param boot the host's start that runs now, 32 hexadecimal digits
 */
export function resumeAfter(cursor: string, isThere: boolean, boot: string): Resume {
  const last = parseCursor(cursor);
  if (isThere || last === undefined) {
    return { args: [`--after-cursor=${cursor}`], isKnown: () => false };
  }
  return {
    args: [],
    isKnown: (line) => {
      if (line.boot === last.boot) return line.monotonicUs <= last.monotonicUs;
      return line.boot !== boot && line.realtimeUs <= last.realtimeUs;
    },
  };
}

/** An empty journal: everything that comes is new. */
export const FROM_THE_START: Resume = { args: [], isKnown: () => false };
