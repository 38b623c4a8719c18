import assert from "node:assert/strict";
import { join } from "node:path";
import { build, stop } from "esbuild";
import { shortNames } from "./short_names.ts";

Deno.test("names in packages get short, and ours stay", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-names-" });
  try {
    const of = join(folder, "node_modules", "one");
    await Deno.mkdir(of, { recursive: true });
    await Deno.writeTextFile(
      join(of, "index.js"),
      "class TheirError extends Error { name = 'TheirError'; }\n" +
        "export function fail(theirParameter) { const theirLocal = theirParameter + 1;\n" +
        "  throw new TheirError(theirLocal * theirLocal); }\n",
    );
    await Deno.writeTextFile(
      join(folder, "main.js"),
      'import { fail } from "./node_modules/one/index.js";\n' +
        "export function start(ourParameter) { fail(ourParameter); }\n",
    );
    const { outputFiles } = await build({
      ...{ entryPoints: [join(folder, "main.js")], bundle: true, write: false, format: "esm" },
      ...{ plugins: [shortNames], logLevel: "silent" },
    });
    const text = outputFiles[0]?.text ?? "";
    for (const kept of ["start", "ourParameter"]) assert.ok(text.includes(kept), text);
    for (const gone of ["theirParameter", "theirLocal"]) assert.ok(!text.includes(gone), text);
    const { start } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
    assert.throws(() => start(2), { name: "TheirError", message: "9" });
  } finally {
    await stop();
    await Deno.remove(folder, { recursive: true });
  }
});
