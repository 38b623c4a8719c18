import assert from "node:assert/strict";
import process from "node:process";
import { randomSource, withSeed } from "./random_source.ts";

Deno.test("withSeed() says with which seed a test failed, and takes it for the next run", async () => {
  const before = process.env.MACHINE_TEST_SEED;
  const numbers: number[] = [];
  const failing = (seed: number) => {
    numbers.push(randomSource(seed).next());
    return Promise.reject(new Error("a fault"));
  };
  try {
    delete process.env.MACHINE_TEST_SEED;
    const error = await withSeed(failing).catch((error: Error) => error);
    const [, seed = ""] = /^with MACHINE_TEST_SEED=(\d+): a fault$/.exec(String(error?.message)) ??
      [];
    process.env.MACHINE_TEST_SEED = seed;
    await assert.rejects(withSeed(failing), new RegExp(`MACHINE_TEST_SEED=${seed}: a fault`));
    assert.equal(numbers[0], numbers[1]);
    process.env.MACHINE_TEST_SEED = "x";
    await assert.rejects(withSeed(failing), /is no whole number/);
  } finally {
    if (before === undefined) delete process.env.MACHINE_TEST_SEED;
    else process.env.MACHINE_TEST_SEED = before;
  }
});
