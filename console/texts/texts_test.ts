import assert from "node:assert/strict";
import { fill, type Texts } from "./text.ts";

const CODE = new Set(["numbers.ts", "say.svelte.ts", "text.ts", "texts_test.ts"]);

/** Every catalogue of this folder, by its name. */
async function catalogues(): Promise<[name: string, texts: Texts][]> {
  const files = [...Deno.readDirSync(new URL(".", import.meta.url))].map(({ name }) => name)
    .filter((name) => !CODE.has(name));
  const modules = await Promise.all(
    files.map((name) => import(new URL(name, import.meta.url).href)),
  );
  return modules.flatMap((module: Record<string, Texts>) => Object.entries(module));
}

const places = (text: string) =>
  [...new Set([...text.matchAll(/\{(\w+)/g)].map(([, name]) => name))].sort();

Deno.test("every text is there in both languages, with the same places", async () => {
  const wrong: string[] = [];
  const all = await catalogues();
  assert.ok(all.length > 5);
  for (const [catalogue, texts] of all) {
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

Deno.test("fill() keeps a name from turning around the rest of a sentence", () => {
  const text = fill("{name} waits", { name: "\u202Eterces\u2066" }, "en");
  assert.equal(text, "\u202Eterces\u2066\u2069\u202C waits");
});
