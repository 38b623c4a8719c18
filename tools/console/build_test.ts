import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../programs.ts";
import { buildConsole, OUTPUT } from "./build.ts";

Deno.test("buildConsole() leaves the folder of the sources as it was, so that it is not built again", async () => {
  const root = await Deno.makeTempDir({ dir: join(ROOT, ".tools"), prefix: "console-test-" });
  try {
    await Deno.mkdir(join(root, ".tools"));
    await Deno.symlink(join(ROOT, "console"), join(root, "console"));
    const changed = async () => (await Deno.stat(join(ROOT, "console"))).mtime?.getTime();
    const before = await changed();
    await buildConsole(root);
    assert.equal(await changed(), before);
    assert.match(await Deno.readTextFile(join(root, OUTPUT, "index.html")), /<script/);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
