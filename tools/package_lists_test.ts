import assert from "node:assert/strict";
import { join } from "node:path";
import { isNamedForTests } from "../tests/habits/kinds.ts";
import { ROOT } from "./programs.ts";

const DEVELOPMENT = "development_packages.txt";
const CONSOLE = "console_packages.txt";
/** What programs run, and what bundles and starts them. */
const PROGRAMS = [
  ..."cloud server agent cli shared install".split(" "),
  ..."run bundle".split(" ").map((name) => `tools/${name}`),
];
const IMPORT = /(?:from|import\(|import)\s*"((?:@[^/"]+\/)?[^./"][^/"]*)/g;

Deno.test("nothing that make run needs imports a package that it leaves out", async () => {
  await assertNotImported(DEVELOPMENT, [...PROGRAMS, "console", "tools/console"]);
});

Deno.test("no program imports a package that is fetched while programs are bundled", async () => {
  await assertNotImported(CONSOLE, PROGRAMS);
});

Deno.test("every package of these lists is one of deno.json", async () => {
  const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  for (const list of [DEVELOPMENT, CONSOLE]) {
    for (const line of await patternsOf(list)) {
      if (line.endsWith("*")) continue;
      assert.ok(line in imports, `${line} is in tools/${list}, but not in deno.json`);
    }
  }
});

async function patternsOf(list: string): Promise<string[]> {
  return (await Deno.readTextFile(join(ROOT, "tools", list))).split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

async function assertNotImported(list: string, folders: readonly string[]): Promise<void> {
  const patterns = await patternsOf(list);
  const isListed = (name: string) =>
    patterns.some((each) =>
      each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : each === name
    );
  const wrong: string[] = [];
  let seen = 0;
  for (const folder of folders) {
    for await (const path of sources(folder)) {
      const text = await Deno.readTextFile(join(ROOT, path));
      for (const [, name] of text.matchAll(IMPORT)) {
        seen++;
        if (isListed(name!)) wrong.push(`${path}: ${name}`);
      }
    }
  }
  assert.deepEqual(wrong, [], `remove it from tools/${list}`);
  assert.ok(seen > 1000, `only ${seen} imports of packages were found`);
}

/** The sources in a folder, from the root of the checkout, without what only tests use. */
async function* sources(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = `${folder}/${name}`;
    if (isDirectory && name !== "test_tools" && name !== "node_modules") yield* sources(path);
    else if (/\.(ts|svelte)$/.test(name) && !isNamedForTests(path)) yield path;
  }
}
