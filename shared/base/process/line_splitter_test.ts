import assert from "node:assert/strict";
import { LineSplitter } from "./line_splitter.ts";

function split(pieces: readonly (string | Uint8Array)[], longest = 100): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter(longest, (line) => lines.push(line));
  for (const piece of pieces) {
    splitter.push(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
  }
  splitter.end();
  return lines;
}

Deno.test("LineSplitter gives the same lines however the bytes are cut", () => {
  const text = "one\ntwo ünï€😀\r\n\nthree";
  const bytes = new TextEncoder().encode(text);
  const expected = ["one", "two ünï€😀", "", "three"];
  assert.deepEqual(split([bytes]), expected);
  for (let size = 1; size < bytes.length; size++) {
    const pieces = [];
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.slice(at, at + size));
    assert.deepEqual(split(pieces), expected, `pieces of ${size}`);
  }
});

Deno.test("LineSplitter hands a long line over in pieces that lose nothing", () => {
  const long = "x".repeat(25);
  assert.deepEqual(split([`${long}\nshort\n`], 10), [
    "x".repeat(10),
    "x".repeat(10),
    "xxxxx",
    "short",
  ]);
  assert.deepEqual(split([...long, "\n"], 10).join(""), long);
  assert.deepEqual(split(["xxxxxxxxxx\n", "y\n"], 10), ["xxxxxxxxxx", "y"]);
  assert.equal(split(["€".repeat(9)], 10).join(""), "€".repeat(9));
});

Deno.test("LineSplitter gives no line when nothing came", () => {
  assert.deepEqual(split([]), []);
  assert.deepEqual(split(["a\n"]), ["a"]);
});
