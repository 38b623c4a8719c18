import { deepEqual, equal } from "node:assert/strict";
import { Backoff } from "./backoff.ts";

const take = (backoff: Backoff, count: number) =>
  Array.from({ length: count }, () => backoff.next());

Deno.test("Backoff next() doubles up to the cap when there is no jitter", () => {
  const backoff = new Backoff({ minMs: 100, maxMs: 1_000, jitter: false });
  deepEqual(take(backoff, 6), [100, 200, 400, 800, 1_000, 1_000]);
});

Deno.test("Backoff next() grows by the factor when one is given", () => {
  const backoff = new Backoff({ minMs: 1, maxMs: 50, factor: 3, jitter: false });
  deepEqual(take(backoff, 5), [1, 3, 9, 27, 50]);
});

Deno.test("Backoff next() is a random part of the wait when there is jitter", () => {
  const numbers = [0.5, 0, 0.25].values();
  const random = () => numbers.next().value ?? NaN;
  deepEqual(take(new Backoff({ minMs: 100, maxMs: 1_000, random }), 3), [50, 0, 100]);
});

Deno.test("Backoff reset() starts again at the first wait when the cause is gone", () => {
  const backoff = new Backoff({ minMs: 100, maxMs: 10_000, jitter: false });
  take(backoff, 4);
  backoff.reset();
  equal(backoff.next(), 100);
});

Deno.test("Backoff next() stays finite after very many attempts", () => {
  const backoff = new Backoff({ minMs: 1, maxMs: 60_000, jitter: false });
  equal(take(backoff, 5_000).at(-1), 60_000);
});
