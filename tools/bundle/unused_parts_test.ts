import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { UNUSED_IMPORTS, UNUSED_PARTS, withoutUnused } from "./unused_parts.ts";

const PACKAGES = fileURLToPath(new URL("../../node_modules/.deno/", import.meta.url));

Deno.test("each of UNUSED_PARTS is a file of an installed package", async () => {
  const folders = (await Array.fromAsync(Deno.readDir(PACKAGES))).map(({ name }) => name);
  for (const { path } of UNUSED_PARTS) {
    const [, name = "", file = ""] =
      /^\/([\w-]+)\/(.*)\$$/.exec(path.source.replaceAll("\\", "")) ?? [];
    const folder = folders.find((folder) => folder.startsWith(`${name}@`));
    assert.ok(folder, `no package ${name}`);
    const found = join(PACKAGES, folder, "node_modules", name, file);
    assert.ok((await Deno.stat(found)).isFile, found);
    assert.match(found.replaceAll("\\", "/"), path);
  }
});

Deno.test("UNUSED_IMPORTS stay away from the package that does not use them, and from no other", async () => {
  const packages = fileURLToPath(new URL("../../node_modules/", import.meta.url));
  try {
    for (const { name, by } of UNUSED_IMPORTS) {
      // Where both are found.
      const resolveDir = dirname(await Deno.realPath(join(packages, by)));
      const files = async (contents: string) => {
        const { metafile, warnings } = await build({
          ...{ stdin: { contents, resolveDir }, bundle: true, write: false, metafile: true },
          ...{ platform: "node", format: "esm", plugins: [withoutUnused], logLevel: "silent" },
        });
        assert.deepEqual(warnings, []);
        return Object.keys(metafile!.inputs).filter((file) =>
          file.includes(`/node_modules/${name}/`)
        );
      };
      assert.deepEqual(await files(`export * from "${by}";`), []);
      assert.notDeepEqual(await files(`export * from "${name}";`), []);
    }
  } finally {
    await stop();
  }
});
