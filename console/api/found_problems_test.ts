import assert from "node:assert/strict";
import { fill } from "../texts/text.ts";
import { foundProblem } from "./found_problems.ts";

const german = (text: string) => foundProblem(text, ([, said], values) => fill(said, values, "de"));

Deno.test("foundProblem: what a condition cannot compare is worded, by its own kinds only", () => {
  assert.match(german("the reading's value is a list, which cannot be compared") ?? "", /Liste/);
  assert.match(german("cpu is a text, the condition has a number") ?? "", /cpu.*Zahl/);
  // A machine's own text may look like one.
  for (const kind of ["constructor", "__proto__", "toString"]) {
    assert.equal(german(`x is ${kind}, which cannot be compared`), undefined);
    assert.equal(german(`x is ${kind}, the condition has ${kind}`), undefined);
  }
});

Deno.test("foundProblem: only a query has too much in it", () => {
  assert.match(german("too many terms in compound SELECT") ?? "", /groß/);
  assert.equal(german("too many open files; raise the limit (ulimit -n)"), undefined);
});
