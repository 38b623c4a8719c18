/** How many tests ended how. Steps inside a test do not count on their own. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

// deno-lint-ignore no-control-regex
const COLOURS = /\u001b\[[0-9;]*m/g;
const SUMMARY =
  /^(?:ok|FAILED) \| (\d+) passed\b[^|]*\| (\d+) failed\b[^|]*(?:\| (\d+) ignored\b)?/;

/**
 * Reads the summary that `deno test` ends with. Its JUnit report would not do: there, tests that
 * a filter left out look like skipped ones, and a module that throws while loading is missing.
 *
 * @returns undefined when there is none, because the run was cut off or could not start.
 */
export function parseSummary(output: string): Counts | undefined {
  for (const line of output.replace(COLOURS, "").split("\n").reverse()) {
    const match = SUMMARY.exec(line.trim());
    if (match) {
      const [passed = 0, failed = 0, skipped = 0] = match.slice(1).map((n) => Number(n ?? 0));
      return { passed, failed, skipped };
    }
  }
}

/** One run of `deno test`: what it said, and what it ended with. */
export interface GroupResult {
  summary: Counts | undefined;
  exitCode: number;
}

/**
 * Adds up runs. A run that failed without saying which test did counts as one failed test, so
 * that a crash or an unreadable file can never pass.
 */
export function total(results: readonly GroupResult[]): Counts {
  const sum: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { summary, exitCode } of results) {
    sum.passed += summary?.passed ?? 0;
    sum.skipped += summary?.skipped ?? 0;
    sum.failed += summary?.failed ?? 0;
    const unexplained = exitCode !== 0 && !summary?.failed;
    if (unexplained || !summary) sum.failed += 1;
  }
  return sum;
}

/** The last line, for example `12 passed, 0 failed` or `12 passed, 1 failed, 2 skipped`. */
export function countLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
