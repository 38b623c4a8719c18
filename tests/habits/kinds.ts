/**
 * A test, or what only tests use: `x_test.ts`, `testing.ts`, `x_testing.ts`, `fake_x.ts`, all of
 * `tests/`. What is in `server/models/fake` are models that anyone may configure.
 */
export const isTest = (path: string): boolean =>
  /_test\.ts$|[/_]testing\.ts$|^tests\/|^shared\/test_tools\/|^(?!server\/models\/fake\/).*\/fake_/
    .test(path);
