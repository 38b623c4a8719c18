import assert from "node:assert/strict";
import { join } from "node:path";
import { staleFiles } from "../../tools/proto/generate.ts";
import { ROOT } from "../../tools/programs.ts";
import { GROUPS } from "../../tools/test/groups.ts";
import { readSources, type Source } from "./sources.ts";

const sources = await readSources();
const CODE = /\.(ts|sh|py|js|css|html)$|^bin\/|^\.ci\/|Makefile$/;
const code = sources.filter(({ path }) => CODE.test(path));

/** Lines of files that match, as `path:line`. */
function linesWith(files: readonly Source[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, i) => pattern.test(line) ? [`${path}:${i + 1}`] : [])
  );
}

Deno.test("generated code is what proto/ gives", async () => {
  assert.deepEqual(await staleFiles(ROOT), []);
});

Deno.test("a file of code has at most 500 lines", () => {
  const long = code.map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > 500);
  assert.deepEqual(long, []);
});

Deno.test("every folder with tests is run by make test, or by a target of its own", () => {
  const own = ["tests/build", "tests/training"];
  const ran = [...GROUPS.flatMap(({ paths }) => paths), ...own].map((path) => `${path}/`);
  const left = sources.map(({ path }) => path)
    .filter((path) => path.endsWith("_test.ts") && !ran.some((start) => path.startsWith(start)));
  assert.deepEqual(left, []);
});

Deno.test("no file names the host of a package registry", () => {
  // In parts, so that this file does not name them itself.
  const hosts = [
    ["registry", "npmjs"],
    ["registry", "yarnpkg"],
    ["pypi", "org"],
    ["files", "pythonhosted"],
    ["jsr", "io"],
    ["proxy", "golang"],
  ].map((parts) => parts.join("\\."));
  assert.deepEqual(linesWith(sources, new RegExp(hosts.join("|"), "i")), []);
});

Deno.test("no file holds the path of a checkout or of someone's home", () => {
  const root = ROOT.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const home = ["/home", "/Users"].map((dir) => `${dir}/[a-z][a-z0-9_-]+/`).join("|");
  assert.deepEqual(linesWith(sources, new RegExp(`${root}/|${home}`)), []);
});

Deno.test("no code says that it is not finished", () => {
  const marks = ["TO" + "DO", "FIX" + "ME", "HA" + "CK"].join("|");
  assert.deepEqual(linesWith(code, new RegExp(`\\b(${marks})\\b`)), []);
});

Deno.test("type checks are not switched off", () => {
  const ways = ["@ts-" + "ignore", "@ts-" + "nocheck"].join("|");
  assert.deepEqual(
    linesWith(code.filter(({ path }) => path.endsWith(".ts")), new RegExp(ways)),
    [],
  );
});

Deno.test("scripts can be run", async () => {
  const scripts = code.filter(({ path, text }) => text.startsWith("#!") && !path.endsWith(".ts"));
  const wrong: string[] = [];
  for (const { path } of scripts) {
    const { mode } = await Deno.stat(join(ROOT, path));
    if (Deno.build.os !== "windows" && ((mode ?? 0) & 0o111) === 0) wrong.push(path);
  }
  assert.deepEqual(wrong, []);
});
