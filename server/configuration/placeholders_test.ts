import assert from "node:assert/strict";
import { resolvePlaceholders, substituteVariables } from "./placeholders.ts";

const read = (name: string) => ({ PORT: "80", DIR: "/data" })[name];

Deno.test("substituteVariables() puts values in and names what is not set", () => {
  const text = '{"a": ${PORT}, "b": "${DIR}/x", "c": "${NOPE}", "d": "$PORT ${environment.DIR}"}';
  assert.deepEqual(substituteVariables(text, read), {
    text: '{"a": 80, "b": "/data/x", "c": "", "d": "$PORT ${environment.DIR}"}',
    missing: ["NOPE"],
  });
});

Deno.test("resolvePlaceholders() reaches strings at every depth and leaves what is not set", () => {
  const attributes = { a: ["${environment.DIR}/y", 1], b: { c: "${environment.NOPE}", d: null } };
  assert.deepEqual(resolvePlaceholders(attributes, read), {
    attributes: { a: ["/data/y", 1], b: { c: "${environment.NOPE}", d: null } },
    missing: ["NOPE"],
  });
});
