import assert from "node:assert/strict";
import type { JsonValue } from "@bufbuild/protobuf";
import {
  AttributeError,
  attributes,
  boolean,
  type Check,
  converted,
  duration,
  integer,
  mapOf,
  number,
  oneOf,
  optional,
  text,
} from "./attributes.ts";

function problem(check: Check<unknown>, value: JsonValue | undefined): string {
  try {
    check.parse(value, "attributes.x");
  } catch (error) {
    assert(error instanceof AttributeError);
    return error.message;
  }
  throw new Error(`${JSON.stringify(value)} was taken`);
}

Deno.test("number() takes its bounds and refuses what lies outside", () => {
  const check = number("", { min: 0, max: 1.5 });
  assert.equal(check.parse(0, "x"), 0);
  assert.equal(check.parse(1.5, "x"), 1.5);
  assert.equal(problem(check, 2), "attributes.x: found 2, allowed: a number from 0 to 1.5");
  assert.equal(problem(check, "1"), 'attributes.x: found "1", allowed: a number from 0 to 1.5');
  assert.deepEqual(check.schema, { type: "number", minimum: 0, maximum: 1.5, description: "" });
});

Deno.test("integer() refuses fractions and says the open bound", () => {
  const check = integer("", { min: 1 });
  assert.equal(check.parse(7, "x"), 7);
  assert.equal(
    problem(check, 1.5),
    "attributes.x: found 1.5, allowed: a whole number of at least 1",
  );
});

Deno.test("boolean() refuses texts that look like one", () => {
  assert.equal(boolean("").parse(false, "x"), false);
  assert.equal(
    problem(boolean(""), "true"),
    'attributes.x: found "true", allowed: true or false',
  );
});

Deno.test("oneOf() names all that is allowed", () => {
  const check = oneOf(["newest", "cycle"], "");
  assert.equal(check.parse("cycle", "x"), "cycle");
  assert.equal(
    problem(check, "oldest"),
    'attributes.x: found "oldest", allowed: one of "newest", "cycle"',
  );
});

Deno.test("duration() gives milliseconds and keeps to its bounds", () => {
  const check = duration("", { min: 10, max: 60_000 });
  assert.equal(check.parse("1.5s", "x"), 1_500);
  for (const value of ["2h", "5ms", "soon", 1000, undefined]) {
    assert.match(problem(check, value), /allowed: a duration from 10ms to 1m0s, for example/);
  }
});

Deno.test("mapOf() names the key whose value does not fit", () => {
  const check = mapOf(text(""), "");
  assert.deepEqual(check.parse({ a: "b" }, "x"), { a: "b" });
  assert.match(problem(check, { a: "b", c: 1 }), /^attributes\.x\.c: found 1,/);
});

Deno.test("converted() refuses what the conversion gives undefined for", () => {
  const even = converted(integer(""), "an even number", (n) => n % 2 === 0 ? n / 2 : undefined);
  assert.equal(even.parse(6, "x"), 3);
  assert.equal(problem(even, 5), "attributes.x: found 5, allowed: an even number");
});

Deno.test("attributes() tells the keys that nobody reads", () => {
  const checks = attributes<{ a: number | undefined }>({ a: optional(number("")) });
  assert.deepEqual(checks.parse({ b: 1 }), { attributes: { a: undefined }, unknown: ["b"] });
});
