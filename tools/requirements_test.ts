import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "./programs.ts";

const TOOLS = join(ROOT, "tools");
const files = [...Deno.readDirSync(TOOLS)].map(({ name }) => name)
  .filter((name) => name.endsWith("requirements.txt"));

Deno.test("there are requirements", () => assert.ok(files.length >= 4));

for (const file of files) {
  Deno.test(`${file} pins versions and hashes of everything`, async () => {
    const text = (await Deno.readTextFile(join(TOOLS, file))).replaceAll(/\\\n\s*/g, " ");
    for (const line of text.split("\n").filter((line) => /^[^#]/.test(line))) {
      assert.match(line, /^[\w.-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+$/);
    }
  });
}
