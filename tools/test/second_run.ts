// Tests that failed run once more, alone, after all others: what a busy host did to a test is set
// apart from a fault that is there each time, and is named.
import type { Counts } from "./summary.ts";
import type { TimedTest } from "./times.ts";

/** More files than this have a cause in common, which a second run would only hide. */
const MOST_FILES = 4;

/**
 * Files to run a second time.
 *
 * @param counts of the first run; a failure that is no test's, such as a file that cannot be loaded,
 *   is not run again.
 * @returns none when nothing failed or when a second run would say nothing.
 */
export function filesToRunAgain(tests: readonly TimedTest[], { failed }: Counts): string[] {
  const of = tests.filter((test) => test.failed);
  const files = [...new Set(of.map(({ file }) => file))];
  return of.length === failed && files.length <= MOST_FILES ? files : [];
}

/** The tests that failed first and passed then. */
export function passedAgain(
  first: readonly TimedTest[],
  second: readonly TimedTest[],
): TimedTest[] {
  const same = (one: TimedTest, other: TimedTest) =>
    one.file === other.file && one.name === other.name;
  return first.filter((test) =>
    test.failed && second.some((each) => same(each, test)) &&
    !second.some((each) => same(each, test) && each.failed)
  );
}

/** The counts with tests that passed the second time among the passed. */
export function countedAgain(counts: Counts, again: readonly TimedTest[]): Counts {
  const { passed, failed, skipped } = counts;
  return { passed: passed + again.length, failed: failed - again.length, skipped };
}

/** Lines for a terminal. */
export function flakyLines(again: readonly TimedTest[]): string {
  return again.map(({ file, name }) =>
    `flaky: ${file}: ${name}: failed, and passed when it ran again\n`
  ).join("");
}
