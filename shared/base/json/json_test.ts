import assert from "node:assert/strict";
import { canonicalJson, countValues, isJsonObject, sameJson } from "./json.ts";

Deno.test("canonicalJson() gives one text for equal values, and their values", () => {
  const one = { b: [{ z: 1, a: null }, "x"], a: { d: true, c: -0.5 } };
  const other = { a: { c: -0.5, d: true }, b: [{ a: null, z: 1 }, "x"] };
  assert.equal(canonicalJson(one), canonicalJson(other));
  assert.equal(canonicalJson(one), '{"a":{"c":-0.5,"d":true},"b":[{"a":null,"z":1},"x"]}');
  assert.notEqual(canonicalJson({ a: [1, 2] }), canonicalJson({ a: [2, 1] }));
});

Deno.test("canonicalJson() keeps every name, and writes null for what JSON cannot say", () => {
  const named = JSON.parse('{"__proto__":{"b":1,"a":2},"constructor":3}');
  assert.equal(canonicalJson(named), '{"__proto__":{"a":2,"b":1},"constructor":3}');
  assert.equal(canonicalJson({ a: NaN, b: [Infinity] }), '{"a":null,"b":[null]}');
});

Deno.test("canonicalJson() leaves out what is undefined", () => {
  assert.equal(canonicalJson({ b: undefined, a: { c: undefined } }), '{"a":{}}');
});

Deno.test("sameJson() ignores the order of keys and what is undefined, not that of a list", () => {
  assert.ok(sameJson({ a: [1, { b: null }], c: undefined }, { a: [1, { b: null }] }));
  assert.ok(sameJson({ a: 1, b: 2 }, { b: 2, a: 1 }));
  assert.ok(!sameJson([1, 2], [2, 1]));
  assert.ok(!sameJson({ a: null }, {}));
  assert.ok(!sameJson([], {}));
});

Deno.test("countValues() counts lists, objects and what is in them, at any depth", () => {
  assert.equal(countValues(null), 1);
  assert.equal(countValues({ a: [1, { b: null }], c: {} }), 6);
  assert.ok(countValues(new Array(1_000).fill([0]), 10) > 10);
  assert.equal(countValues(JSON.parse("[".repeat(200_000) + "]".repeat(200_000))), 200_000);
});

Deno.test("isJsonObject() is false for lists and null", () => {
  assert.deepEqual([{}, [], null, "x", undefined].map(isJsonObject), [
    true,
    false,
    false,
    false,
    false,
  ]);
});
