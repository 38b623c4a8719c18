import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hideImports } from "./hidden_imports.ts";

const MODULE = `import{a}from"./b.mjs";const c=()=>import("./c.mjs");
export const d=[import("./d.mjs"),import("./e.mjs")];import("node:fs");`;

Deno.test("hideImports() makes names of modules beside it expressions, and leaves the rest", () => {
  assert.equal(
    hideImports(MODULE).text,
    `import{a}from"./b.mjs";const c=()=>import(0||"./c.mjs");
export const d=[import(0||"./d.mjs"),import(0||"./e.mjs")];import("node:fs");`,
  );
});

Deno.test("hideImports() tells where each column has come to lie", () => {
  const { text, columnOf } = hideImports(MODULE);
  const [before, after] = [MODULE.split("\n"), text.split("\n")];
  for (const [line, part] of [[0, "const c"], [0, '"./c'], [1, '"./d'], [1, '"./e'], [1, "node"]]) {
    const column = before[line as number]!.indexOf(part as string);
    assert.equal(
      columnOf(line as number, column),
      after[line as number]!.indexOf(part as string),
      String(part),
    );
  }
});

Deno.test("the runtime does not read what is hidden, and imports it all the same", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const later = 'import("./later.mjs").then(({ told }) => console.log(told))';
    await Deno.writeTextFile(join(dir, "plain.mjs"), later);
    await Deno.writeTextFile(join(dir, "hidden.mjs"), hideImports(later).text);
    await Deno.writeTextFile(join(dir, "later.mjs"), 'export const told = "heard";');
    const deno = async (...args: string[]) => {
      const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: dir }).output();
      return new TextDecoder().decode(stdout);
    };
    const modulesOf = async (name: string) => {
      const { modules } = JSON.parse(await deno("info", "--json", "--no-config", name));
      return (modules as { specifier: string }[]).map(({ specifier }) => specifier);
    };
    const url = pathToFileURL(join(await Deno.realPath(dir), "later.mjs")).href;
    assert.ok((await modulesOf("plain.mjs")).includes(url));
    assert.ok(!(await modulesOf("hidden.mjs")).includes(url));
    assert.equal(await deno("run", "-A", "--no-config", "hidden.mjs"), "heard\n");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
