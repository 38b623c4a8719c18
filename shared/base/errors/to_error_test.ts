import assert from "node:assert/strict";
import { stackOf, toError } from "./to_error.ts";

Deno.test("toError() keeps an error, and gives anything else a message", () => {
  const error = new TypeError("bad");
  assert.equal(toError(error), error);
  assert.equal(toError("text").message, "text");
  assert.equal(toError(7).message, "7");
  assert.equal(toError("").message, "unknown error");
  assert.equal(toError(undefined).message, "undefined");
});

Deno.test("stackOf() gives an error's stack, its message without one, and anything else as text", () => {
  const error = new TypeError("bad");
  assert.equal(stackOf(error), error.stack);
  delete error.stack;
  assert.equal(stackOf(error), "bad");
  assert.equal(stackOf(7), "7");
});
