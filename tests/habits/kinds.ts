/**
 * What only tests use, next to the code: `x_test.ts`; `testing.ts` or `x_testing.ts`, which help
 * tests; `fake_x.ts`, which stands in for something. Those of `server/models/fake` are models that
 * anyone may configure.
 */
export const isNamedForTests = (path: string): boolean =>
  /_test\.ts$|[/_]testing\.ts$|^(?!server\/models\/fake\/).*\/fake_\w+\.ts$/.test(path);

/** A test or what only tests use, all of `tests/` and `shared/test_tools/` among it. */
export const isTest = (path: string): boolean =>
  isNamedForTests(path) || /^tests\/|^shared\/test_tools\//.test(path);
