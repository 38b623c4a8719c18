import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { Turns } from "./turns.ts";

const NOBODY = new AbortController().signal;
const LIMITS = { mostRunning: 3, mostRunningOfOne: 2, mostWaiting: 20, mostWaitingOfOne: 8 };

/** Queries by name; those that began, in their order. */
class Queries {
  readonly turns = new Turns(LIMITS, "queries");
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();

  /** The part of the name before the number is the organisation. */
  async ask(name: string, signal: AbortSignal = NOBODY): Promise<void> {
    const end = await this.turns.take(name.replace(/\d+$/, ""), signal);
    this.begun.push(name);
    this.#ends.set(name, end);
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)!();
    for (let n = 0; n < 5; n++) await Promise.resolve();
  }
}

function codeOf(promise: Promise<void>): Promise<Code | undefined> {
  return promise.then(() => undefined, (error) => ConnectError.from(error).code);
}

Deno.test("Turns leaves room for another organisation's query at once", async () => {
  const queries = new Queries();
  for (const n of [1, 2, 3, 4]) void queries.ask(`a${n}`);
  await queries.ask("b1");
  assert.deepEqual(queries.begun, ["a1", "a2", "b1"]);
});

Deno.test("Turns lets organisations take turns, whatever each has waiting", async () => {
  const queries = new Queries();
  for (let n = 1; n <= 8; n++) void queries.ask(`a${n}`);
  for (const name of ["b1", "b2", "b3", "c1", "c2"]) void queries.ask(name);
  await Promise.resolve();
  for (let n = 0; n < 10; n++) await queries.end(queries.begun[n]!);
  assert.equal(queries.begun.slice(3).join(" "), "a3 b2 c1 a4 b3 c2 a5 a6 a7");
});

Deno.test("Turns bounds what waits, of one organisation and of all", async () => {
  const queries = new Queries();
  for (let n = 1; n <= 10; n++) void queries.ask(`a${n}`);
  assert.equal(await codeOf(queries.ask("a11")), Code.ResourceExhausted);
  for (const org of ["b", "c"]) for (let n = 1; n <= 8; n++) queries.ask(org + n).catch(() => {});
  assert.equal(await codeOf(queries.ask("d1")), Code.ResourceExhausted);
});

Deno.test("Turns gives the place of one that leaves to others", async () => {
  const queries = new Queries();
  const caller = new AbortController();
  for (const name of ["a1", "a2", "b1"]) await queries.ask(name);
  const left = Array.from({ length: 8 }, (_, n) => queries.ask(`a${n + 3}`, caller.signal));
  caller.abort(new Error("left"));
  for (const one of left) await assert.rejects(one, /left/);
  void queries.ask("a11");
  await queries.end("a1");
  assert.equal(queries.begun.at(-1), "a11");
  await queries.end("a11");
  await queries.ask("c1");
});
