/** Tests that run together. */
export interface Group {
  readonly paths: string[];
  /** How they run side by side; left out: file after file. */
  readonly parallel?: {
    /** They start whole programs and mostly wait. */
    readonly programs: boolean;
    /** How many files a bunch has at most. */
    readonly bunch: number;
  };
}

/** What a test with clouds, machines and browsers takes, with room to spare; bytes. */
const PROGRAMS_BYTES = 2 ** 30;

/**
 * How many bunches of a group run at a time.
 *
 * @param memory that is free, bytes.
 */
export function atATime({ parallel }: Group, processors: number, memory: number): number {
  if (parallel === undefined) return 1;
  const [value, most] = parallel.programs
    ? [Math.min(processors, memory / PROGRAMS_BYTES), 8]
    : [processors, 8];
  return Math.floor(Math.min(Math.max(2, value), most));
}

/**
 * All but what `make test-training` and `make smoke` run. They run side by side, so that programs
 * have the processors while others wait.
 */
export const GROUPS: readonly Group[] = [
  {
    paths: [
      ...["shared", "server", "agent", "cloud", "cli", "micro", "console", "tools"],
      ...["tests/cli", "tests/habits"],
    ],
    parallel: { programs: false, bunch: 12 },
  },
  {
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
    parallel: { programs: true, bunch: 1 },
  },
];
