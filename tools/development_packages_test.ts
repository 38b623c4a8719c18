import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "./programs.ts";

const LIST = join(ROOT, "tools", "development_packages.txt");
/** What `make run` runs, bundles or builds. */
const FOLDERS = [
  ..."cloud server agent cli shared console install".split(" "),
  ..."run bundle console".split(" ").map((name) => `tools/${name}`),
];
const ONLY_TESTS = /(_test|testing|test_[a-z_]+)\.ts$/;
const IMPORT = /(?:from|import\(|import)\s*"((?:@[^/"]+\/)?[^./"][^/"]*)/g;

Deno.test("nothing that make run needs imports a package that it leaves out", async () => {
  const patterns = (await Deno.readTextFile(LIST)).split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const isLeftOut = (name: string) =>
    patterns.some((each) =>
      each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : each === name
    );
  const wrong: string[] = [];
  let seen = 0;
  for (const folder of FOLDERS) {
    for await (const path of sources(folder)) {
      const text = await Deno.readTextFile(join(ROOT, path));
      for (const [, name] of text.matchAll(IMPORT)) {
        seen++;
        if (isLeftOut(name!)) wrong.push(`${path}: ${name}`);
      }
    }
  }
  assert.deepEqual(wrong, [], "remove it from tools/development_packages.txt");
  assert.ok(seen > 1000, `only ${seen} imports of packages were found`);
});

Deno.test("every package that make run leaves out is one of deno.json", async () => {
  const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  for (const line of (await Deno.readTextFile(LIST)).split("\n")) {
    if (line === "" || line.startsWith("#") || line.endsWith("*")) continue;
    assert.ok(line in imports, `${line} is in development_packages.txt, but not in deno.json`);
  }
});

/** The sources in a folder, from the root of the checkout, without what only tests use. */
async function* sources(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = `${folder}/${name}`;
    if (isDirectory && name !== "test_tools" && name !== "node_modules") yield* sources(path);
    else if (/\.(ts|svelte)$/.test(name) && !ONLY_TESTS.test(name)) yield path;
  }
}
