/** Tests that run together. */
export interface Group {
  readonly paths: string[];
  /** Files that take longest: they begin first, so that none of them runs alone in the end. */
  readonly first?: readonly string[];
  /** Files about what a new process has not loaded yet: no other test runs in theirs. */
  readonly alone?: readonly string[];
  /** How they run side by side; left out: file after file. */
  readonly parallel?: {
    /** How many bunches run at a time for each processor. */
    readonly perProcessor: number;
    /** How many run at a time at least, however few processors and little memory there are. */
    readonly least: number;
    /** Memory that a bunch takes, with room to spare; bytes. */
    readonly bytes: number;
    /** How many files a bunch has at most. */
    readonly bunch: number;
  };
}

const MOST = 8;
/** What a test with clouds, machines and browsers takes. */
const PROGRAMS_BYTES = 2 ** 30;

/**
 * How many bunches of a group run at a time.
 *
 * @param memory that is free, bytes.
 */
export function atATime({ parallel }: Group, processors: number, memory: number): number {
  if (parallel === undefined) return 1;
  const { perProcessor, least, bytes } = parallel;
  const value = Math.min(perProcessor * processors, memory / bytes, MOST);
  return Math.floor(Math.max(least, value));
}

/** How tests run that start whole programs: each file apart, and as many at a time as processors. */
export const SIDE_BY_SIDE: NonNullable<Group["parallel"]> = {
  perProcessor: 1,
  least: 1,
  bytes: PROGRAMS_BYTES,
  bunch: 1,
};

/**
 * All but what `make test-training`, `make test-upgrade` and `make smoke` run. The groups run side
 * by side, so that some have the processors while others wait; they take about as long.
 */
export const GROUPS: readonly Group[] = [
  {
    paths: [
      ...["shared", "server", "agent", "cloud", "cli", "micro", "console", "tools"],
      ...["tests/cli", "tests/habits"],
    ],
    alone: ["server/run/machine/first_calls_test.ts", "server/run/machine/start_test.ts"],
    // With one for each processor the other groups end when two thirds of this one have run.
    parallel: { perProcessor: 1.5, least: 2, bytes: 2 ** 28, bunch: 24 },
  },
  {
    // Browsers keep a processor busy: with more of them at a time pages miss deadlines. The tests of
    // a bunch share one.
    paths: ["tests/console"],
    parallel: { perProcessor: 0.5, least: 1, bytes: PROGRAMS_BYTES, bunch: 4 },
  },
  {
    // They mostly wait: for programs that start, end, retry and notice that others are away.
    paths: [
      "tests/bench",
      "tests/compat",
      "tests/e2e",
      "tests/faults",
      "tests/modules",
      "tests/object_storage",
      "tests/rpc",
    ],
    first: [
      "tests/faults/updates/agent_kill_test.ts",
      "tests/e2e/updates_test.ts",
      "tests/e2e/systemd_test.ts",
      "tests/e2e/system_configuration_test.ts",
      "tests/e2e/recovery_test.ts",
      "tests/e2e/networks_test.ts",
      "tests/compat/python_data_test.ts",
      "tests/e2e/roles_test.ts",
      "tests/e2e/run_test.ts",
      "tests/e2e/smart_machine_test.ts",
      "tests/e2e/cloud_walk_test.ts",
    ],
    parallel: { perProcessor: 1.5, least: 2, bytes: PROGRAMS_BYTES, bunch: 1 },
  },
];
