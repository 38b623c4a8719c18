import assert from "node:assert/strict";
import { ranked } from "./rank.ts";

const entries = ["Fleet", "rover · Lab", "my-rover · Hall", "clover · Lab"].map((text) => ({
  text,
}));
const texts = (text: string, most = 10) => ranked(entries, text, most).map((entry) => entry.text);

Deno.test("ranked() puts what begins with the text first, and wants every word", () => {
  assert.deepEqual(texts("rover"), ["rover · Lab", "my-rover · Hall"]);
  assert.deepEqual(texts("over"), ["rover · Lab", "clover · Lab", "my-rover · Hall"]);
  assert.deepEqual(texts("LAB rov"), ["rover · Lab"]);
  assert.deepEqual(texts("none"), []);
});

Deno.test("ranked() gives all without a text, and no more than asked for", () => {
  assert.deepEqual(texts("", 2), ["Fleet", "rover · Lab"]);
});
