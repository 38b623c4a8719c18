import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { parseJsonPath, pickJson } from "./json_path.ts";
import { jsonReadings, ReadingsError } from "./json_readings.ts";
import { Polled } from "./polled.ts";

Deno.test("parseJsonPath() reads keys, indexes and quoted keys", () => {
  const steps = (text: string) => parseJsonPath(text)?.steps;
  assert.deepEqual(steps("a"), ["a"]);
  assert.deepEqual(steps("a.b-c[0][12].d"), ["a", "b-c", 0, 12, "d"]);
  assert.deepEqual(steps('["a.b"]["say \\"hi\\""].x'), ["a.b", 'say "hi"', "x"]);
  assert.deepEqual(steps("[3].a"), [3, "a"]);
  assert.deepEqual(steps(".a"), ["a"], "as jq writes it");
  for (const wrong of ["", ".", "a.", "a..b", "a[x]", "a[-1]", "a]", 'a["b]', 'a["\\q"]']) {
    assert.equal(steps(wrong), undefined, wrong);
  }
});

Deno.test("pickJson() finds nothing where the value has another form", () => {
  const value = { a: [{ b: null }], text: "xyz" };
  assert.equal(pickJson(value, ["a", 0, "b"]), null);
  assert.equal(pickJson(value, ["a", "length"]), undefined);
  assert.equal(pickJson(value, ["text", 0]), undefined);
  assert.equal(pickJson(value, ["toString"]), undefined);
  assert.equal(pickJson(value, ["a", 0, "b", "c"]), undefined);
});

Deno.test("jsonReadings() names a single value after the last key of its path", () => {
  const read = (text: string, path: string) => jsonReadings(text, parseJsonPath(path), "it");
  assert.deepEqual(read('{"a": {"b": [1, 2]}}', "a.b"), { b: [1, 2] });
  assert.deepEqual(read('{"a": {"b": [1, 2]}}', "a.b[1]"), { b: 2 });
  assert.deepEqual(read("[7]", "[0]"), { value: 7 });
});

Deno.test("jsonReadings() shows only the beginning of a long text that is no JSON", () => {
  assert.throws(() => jsonReadings("<html>".repeat(1_000), undefined, "the answer"), (error) => {
    assert(error instanceof ReadingsError);
    assert.match(error.message, /^the answer is no JSON: it begins with "<html>/);
    assert(error.message.length < 200);
    return true;
  });
});

/** A {@link Polled} whose answers the test gives. */
function scripted(intervalMs = 0) {
  const clock = new FakeClock();
  const asked: { answer: PromiseWithResolvers<number>; signal: AbortSignal }[] = [];
  const polled = new Polled({
    clock,
    intervalMs,
    ask: (signal) => {
      const answer = Promise.withResolvers<number>();
      signal.addEventListener("abort", () => answer.reject(signal.reason));
      asked.push({ answer, signal });
      return answer.promise;
    },
  });
  return { clock, asked, polled };
}

const stay = new AbortController().signal;

Deno.test("Polled asks once for all who wait and goes on while one is left", async () => {
  const { asked, polled } = scripted();
  const leaver = new AbortController();
  const left = polled.read(leaver.signal);
  const stayed = polled.read(stay);
  leaver.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
  assert.equal(asked[0]!.signal.aborted, false);
  asked[0]!.answer.resolve(5);
  assert.equal(await stayed, 5);
  assert.equal(asked.length, 1);
});

Deno.test("Polled breaks off when nobody is left, and asks anew for the next", async () => {
  const { asked, polled } = scripted(1_000);
  const leaver = new AbortController();
  const left = polled.read(leaver.signal);
  leaver.abort(new Error("gone"));
  const next = polled.read(stay);
  await assert.rejects(left, /gone/);
  assert.equal(asked[0]!.signal.aborted, true);
  assert.equal(asked.length, 2);
  asked[1]!.answer.resolve(6);
  assert.equal(await next, 6);
});

Deno.test("Polled gives answers and failures out again until they are too old", async () => {
  const { clock, asked, polled } = scripted(1_000);
  const first = polled.read(stay);
  asked[0]!.answer.reject(new Error("down"));
  await assert.rejects(first, /down/);
  await clock.advance(999);
  await assert.rejects(polled.read(stay), /down/);
  assert.equal(asked.length, 1);
  await clock.advance(1);
  const second = polled.read(stay);
  asked[1]!.answer.resolve(1);
  assert.equal(await second, 1);
});

Deno.test("Polled breaks off at the close and answers nobody afterwards", async () => {
  const { asked, polled } = scripted();
  const reading = polled.read(stay);
  reading.catch(() => {});
  await polled.close();
  assert.equal(asked[0]!.signal.aborted, true);
  await assert.rejects(reading, /closed/);
  await assert.rejects(polled.read(stay), /closed/);
});
