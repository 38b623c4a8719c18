import assert from "node:assert/strict";
import * as esbuild from "esbuild";
import { fileURLToPath } from "node:url";
import { readSources } from "./sources.ts";

const ENTRY = fileURLToPath(new URL("../../micro/core/main.ts", import.meta.url));
/** What a small JavaScript engine has not. */
const ABSENT =
  /\b(TextEncoder|TextDecoder|URL|setTimeout|setInterval|console|fetch|crypto|Deno|process|Buffer|structuredClone|queueMicrotask|AbortController|performance|atob|btoa)\b(?=[.(]| *$)/;
/** Bytes of the core with its built-in models: what a device with 2 MB of flash has room for. */
const MOST_BYTES = 150 * 1024;

Deno.test("micro/core uses the language and its host only", async () => {
  const core = (await readSources()).filter(({ path }) =>
    path.startsWith("micro/core/") && !/(_test|testing)\.ts$/.test(path)
  );
  assert.ok(core.length > 20);
  const wrong = core.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, i) => {
      const code = line.replace(/^\s*(\*|\/\/|\/\*\*).*/, "").replaceAll(/"[^"]*"|`[^`]*`/g, '""');
      const found = ABSENT.exec(code);
      return found ? [`${path}:${i + 1}: ${found[0]}`] : [];
    })
  );
  assert.deepEqual(wrong, []);
});

Deno.test("micro/core bundles without a library and stays small", async () => {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2023",
    platform: "neutral",
  });
  await esbuild.stop();
  const size = outputFiles[0]?.contents.length ?? Infinity;
  assert.ok(size < MOST_BYTES, `${size} bytes`);
  const libraries = Object.keys(metafile.inputs).filter((path) => path.includes("node_modules"));
  assert.deepEqual(libraries, []);
});
