import { DURATION_ALLOWED, durationMs } from "../forms.ts";
import { type Path, problemAt, type Report } from "../problem.ts";

/** Checks a Go duration text, when there is one: its form, not negative, and a range in ms. */
export function checkDuration(
  text: string | undefined,
  path: Path,
  report: Report,
  range?: { minMs: number; maxMs: number; allowed: string },
): void {
  if (text === undefined || text === "") return;
  const ms = durationMs(text);
  if (ms === undefined) {
    report(problemAt(path, text, "this is not a duration", DURATION_ALLOWED));
  } else if (ms < 0) {
    report(problemAt(path, text, "the duration is negative", range?.allowed ?? "0s or more"));
  } else if (range && ms !== 0 && (ms < range.minMs || ms > range.maxMs)) {
    report(problemAt(path, text, "the duration is out of range", range.allowed));
  }
}
