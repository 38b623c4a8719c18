import type { Skip } from "../../shared/test_tools/skips.ts";

/** What tests reported, from the file that `MACHINE_TEST_SKIPS` names; one JSON object a line. */
export function parseSkips(text: string): Skip[] {
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Skip);
}

/** One line for each reason, with the files of the tests. */
export function skipLines(skips: readonly Skip[]): string[] {
  const files = new Map<string, Set<string>>();
  for (const { reason, file } of skips) {
    files.set(reason, (files.get(reason) ?? new Set()).add(file));
  }
  return [...files].sort(([one], [other]) => one < other ? -1 : 1)
    .map(([reason, of]) => `skipped: ${reason}: ${[...of].sort().join(", ")}`);
}
