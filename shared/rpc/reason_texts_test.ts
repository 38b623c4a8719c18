import assert from "node:assert/strict";
import { type Reason, REASONS } from "./reasons.ts";
import { reasons, reasonText } from "./reason_texts.ts";

Deno.test("texts of reasons have places for values that the reason has, and no others", () => {
  const wrong = Object.entries(reasons).filter(([reason, [english]]) => {
    const given: readonly string[] = REASONS[reason as Reason];
    return [...english.matchAll(/\{(\w+)/g)].some(([, place = ""]) => !given.includes(place));
  });
  assert.deepEqual(wrong.map(([reason]) => reason), []);
});

Deno.test("reasons have the same places in each language", () => {
  const places = (text: string) => [...text.matchAll(/\{(\w+)/g)].map(([, name]) => name).sort();
  for (const [reason, [english, german]] of Object.entries(reasons)) {
    assert.deepEqual(places(german), places(english), reason);
  }
});

Deno.test("reasonText() fills what came, and shows places without a value", () => {
  const texts = reasonText({ reason: "PASSWORD_SHORT", values: { least: "10" } });
  assert.deepEqual(texts, [
    "The password needs at least 10 characters.",
    "Das Passwort braucht mindestens 10 Zeichen.",
  ]);
  assert.equal(reasonText({ reason: "NOT_FOUND", values: {} })[0], "Nothing has the id {id}.");
});
