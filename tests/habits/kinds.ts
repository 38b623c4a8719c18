/**
 * A test, or what only tests use: `x_test.ts`, `testing.ts`, `x_testing.ts`, `fake_x.ts`, all of
 * `tests/`. The fakes of `server/models` are models that anyone may configure.
 */
export const isTest = (path: string): boolean =>
  /_test\.ts$|[/_]testing\.ts$|^tests\/|^shared\/test_tools\/|^(?!server\/models\/).*\/fake_/
    .test(path);
