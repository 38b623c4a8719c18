import assert from "node:assert/strict";
import { english } from "./english.ts";
import { german } from "./german.ts";
import { messagesFor } from "./languages.ts";

Deno.test("messagesFor() takes the language that is liked best", () => {
  const language = (accepted: string | null) => messagesFor(accepted).language;
  assert.equal(language("de-AT,en;q=0.5"), "de");
  assert.equal(language("fr, de;q=0.4, en;q=0.7"), "en");
  assert.equal(language("DE"), "de");
  assert.equal(language("de;q=0, en"), "en");
  for (const other of [null, "", "fr", "*", ";;,q=,", "x".repeat(100_000)]) {
    assert.equal(language(other), "en");
  }
});

Deno.test("both catalogues say everything, each in its own words", () => {
  const texts = (value: unknown, path: string): [string, string][] =>
    typeof value === "string"
      ? [[path, value]]
      : typeof value === "function"
      ? [[path, String(value("X"))]]
      : Object.entries(value ?? {}).flatMap(([key, inner]) => texts(inner, `${path}.${key}`));
  const [en, de] = [texts(english, ""), texts(german, "")];
  assert.deepEqual(en.map(([path]) => path), de.map(([path]) => path));
  const same = en.filter(([, text], n) => text === de[n]?.[1]).map(([path]) => path);
  assert.deepEqual(same, []);
  for (const [path, text] of [...en, ...de]) assert.notEqual(text.trim(), "", path);
});
