/** How many files of each group run at a time; the groups do, too, as tests mostly wait. */
export function filesAtATime(processors: number): number {
  return Math.min(Math.max(2, processors), 8);
}

/** Tests that run together. */
export interface Group {
  paths: string[];
  /** Several files at a time. */
  parallel: boolean;
}

/**
 * All but what `make test-training` and `make smoke` run. They run side by side, so that programs
 * have the processors while others wait.
 */
export const GROUPS: readonly Group[] = [
  {
    paths: [
      ...["shared", "server", "agent", "cloud", "cli", "console", "tools"],
      ...["tests/cli", "tests/habits"],
    ],
    parallel: true,
  },
  {
    // They start whole programs, which mostly wait.
    paths: [
      "tests/bench",
      "tests/compat",
      "tests/console",
      "tests/e2e",
      "tests/faults",
      "tests/modules",
      "tests/object_storage",
      "tests/rpc",
    ],
    parallel: true,
  },
];
