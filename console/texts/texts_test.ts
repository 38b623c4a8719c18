import assert from "node:assert/strict";
import { common } from "./common.ts";
import { control } from "./control.ts";
import { errors } from "./errors.ts";
import { fleet } from "./fleet.ts";
import { logs } from "./logs.ts";
import { machine } from "./machine.ts";
import { newMachine } from "./new_machine.ts";
import { pages } from "./pages.ts";
import { releases } from "./releases.ts";
import { signIn } from "./sign_in.ts";
import { fill, type Texts } from "./text.ts";

/** Every catalogue; `tests/console` tests that no file is left out. */
const CATALOGUES: Readonly<Record<string, Texts>> = {
  ...{ common, control, errors, fleet, logs, machine, newMachine, pages, releases, signIn },
};

const places = (text: string) =>
  [...new Set([...text.matchAll(/\{(\w+)/g)].map(([, name]) => name))].sort();

Deno.test("every text is there in both languages, with the same places", () => {
  const wrong: string[] = [];
  for (const [catalogue, texts] of Object.entries(CATALOGUES)) {
    for (const [key, [english, german]] of Object.entries(texts)) {
      const isEmpty = english.trim() === "" || german.trim() === "";
      if (isEmpty || places(english).join() !== places(german).join()) {
        wrong.push(`${catalogue}.${key}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test("fill() fills places, chooses words by number, and leaves what it does not know", () => {
  const text = "{n} {n|machine|machines} in {place}, {other}";
  assert.equal(fill(text, { n: 1, place: "Lab" }, "en"), "1 machine in Lab, {other}");
  assert.equal(fill(text, { n: 1200, place: "{n}" }, "de"), "1.200 machines in {n}, {other}");
});
