// What the tests next to the code use of Deno, for the type check, which knows browsers only.
declare namespace Deno {
  function readTextFile(path: URL): Promise<string>;
  function readDirSync(path: URL): Iterable<{ readonly name: string }>;
  function test(name: string, run: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  interface Assert {
    (value: unknown, message?: string): asserts value;
    ok(value: unknown, message?: string): asserts value;
    equal(found: unknown, expected: unknown, message?: string): void;
    deepEqual(found: unknown, expected: unknown, message?: string): void;
    notEqual(found: unknown, expected: unknown, message?: string): void;
    match(text: string, pattern: RegExp, message?: string): void;
    doesNotMatch(text: string, pattern: RegExp, message?: string): void;
    throws(run: () => unknown, expected?: RegExp): void;
    rejects(promise: Promise<unknown>, expected?: RegExp): Promise<void>;
  }
  const assert: Assert;
  export default assert;
}
