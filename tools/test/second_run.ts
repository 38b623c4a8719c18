// Tests that failed run once more, alone, after all others: what a busy host did to a test is set
// apart from a fault that is there each time, and is named.
import type { Counts } from "./summary.ts";
import type { TimedTest } from "./times.ts";

/** More files than this have a cause in common, which a second run would only hide. */
const MOST_FILES = 10;

/** What a run left to look at. */
export interface Ran {
  readonly tests: readonly TimedTest[];
  /** The file whose tests ran at each error outside of a test; such an error cancels its bunch. */
  readonly uncaught: readonly string[];
}

/** What the second run makes of the first. */
export interface Again {
  /** Tests that failed first and passed then. */
  readonly flaky: readonly TimedTest[];
  /** Files in which an error outside of a test did not happen again. */
  readonly caught: readonly string[];
  /** How many tests ran only then, and passed. */
  readonly late: number;
}

/** Whether each failure that a run counts is one of a test or an error outside of one. */
export function isExplained({ tests, uncaught }: Ran, { failed }: Counts): boolean {
  return tests.filter((test) => test.failed || test.cancelled).length + uncaught.length === failed;
}

/**
 * Files to run a second time: those with a failure, and those whose tests were cancelled by it.
 *
 * @param counts of the first run; a failure that is no test's, such as a file that cannot be loaded,
 *   is not run again.
 * @returns none when nothing failed or when a second run would say nothing.
 */
export function filesToRunAgain(first: Ran, counts: Counts): string[] {
  const filesOf = (tests: readonly TimedTest[]) => tests.map(({ file }) => file);
  const failed = filesOf(first.tests.filter((test) => test.failed));
  const wrong = new Set([...failed, ...first.uncaught]);
  if (!isExplained(first, counts) || wrong.size > MOST_FILES) return [];
  return [...wrong.union(new Set(filesOf(first.tests.filter((test) => test.cancelled))))];
}

/** @param second of the files to run again. */
export function secondLook(first: Ran, second: Ran): Again {
  const passed = (test: TimedTest) => {
    const same = second.tests.filter(({ file, name }) => file === test.file && name === test.name);
    return same.length > 0 && !same.some(({ failed, cancelled }) => failed || cancelled);
  };
  const wholly = (file: string) =>
    !second.uncaught.includes(file) &&
    second.tests.some((test) => test.file === file) &&
    !second.tests.some((test) => test.file === file && (test.failed || test.cancelled));
  return {
    flaky: first.tests.filter((test) => test.failed && passed(test)),
    caught: first.uncaught.filter(wholly),
    late: first.tests.filter((test) => test.cancelled && passed(test)).length,
  };
}

/** The counts with what passed the second time among the passed. */
export function countedAgain(
  { passed, failed, skipped }: Counts,
  { flaky, caught, late }: Again,
): Counts {
  const now = flaky.length + late;
  return { passed: passed + now, failed: failed - now - caught.length, skipped };
}

/** Lines for a terminal. */
export function flakyLines({ flaky, caught }: Again): string {
  return [
    ...caught.map((file) => `flaky: ${file}: an error outside of its tests, once`),
    ...flaky.map(({ file, name }) =>
      `flaky: ${file}: ${name}: failed, and passed when it ran again`
    ),
  ].map((line) => `${line}\n`).join("");
}
