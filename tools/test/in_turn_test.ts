import assert from "node:assert/strict";
import { InTurn } from "./in_turn.ts";

Deno.test("InTurn passes writers on one after the other, the first as it comes", () => {
  let written = "";
  const output = new InTurn((bytes) => written += new TextDecoder().decode(bytes));
  const add = (at: number, text: string) => {
    output.add(at, new TextEncoder().encode(text));
    return written;
  };
  assert.equal(add(0, "a"), "a");
  assert.equal(add(2, "x"), "a");
  assert.equal(add(1, "m"), "a");
  output.end(1);
  assert.equal(add(0, "b"), "ab");
  output.end(0);
  assert.equal(written, "abmx");
  assert.equal(add(2, "y"), "abmxy");
  output.end(2);
  assert.equal(written, "abmxy");
});
