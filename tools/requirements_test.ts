import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./programs.ts";

/** What tests, the demo, the examples and the cloud's own training script install with pip. */
const PATTERNS = [
  "tools/*requirements.txt",
  "docs/examples/*/requirements.txt",
  "cloud/training/managed/*/requirements.txt",
];
const files = (await Array.fromAsync(glob(PATTERNS, { cwd: ROOT }))).toSorted();

Deno.test("there are requirements of every kind", () => {
  for (const folder of ["tools/", "docs/", "cloud/"]) {
    assert.ok(files.some((file) => file.startsWith(folder)), folder);
  }
});

for (const file of files) {
  Deno.test(`${file} pins versions and hashes of everything`, async () => {
    const text = (await readFile(join(ROOT, file), "utf8")).replaceAll(/\\\n\s*/g, " ");
    for (const line of text.split("\n").filter((line) => /^[^#]/.test(line))) {
      assert.match(line, /^[\w.-]+==[\w.]+(; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+$/);
    }
  });
}
