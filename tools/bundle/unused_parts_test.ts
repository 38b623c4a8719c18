import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { UNUSED_PARTS } from "./unused_parts.ts";

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
