import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildInfo, describeBuild, versionText } from "./build_info.ts";

const stamp = { version: "1.2.3", commit: "abc1234" };

Deno.test("buildInfo says source and names no addon when the modules run as they stand", () => {
  assert.match(buildInfo.version, /^\d+\.\d+\.\d+/);
  assert.equal(buildInfo.commit, "source");
  assert.equal(buildInfo.compiled, false);
  assert.equal(buildInfo.nativeSqlite, undefined);
});

Deno.test("describeBuild() points addon and assets at the bundle when there is a stamp", () => {
  const dir = join(import.meta.dirname ?? "", "bundle");
  const build = describeBuild(stamp, dir, true);
  assert.equal(build.version, "1.2.3");
  assert.equal(build.compiled, true);
  assert.equal(build.nativeSqlite, join(dir, "better_sqlite3.node"));
  assert.equal(build.assetsDir("../web", "file:///bundled/elsewhere.js"), join(dir, "web"));
});

Deno.test("assetsDir() is relative to the calling module when there is no stamp", () => {
  const dir = import.meta.dirname ?? "";
  const url = pathToFileURL(join(dir, "module.ts")).href;
  assert.equal(buildInfo.assetsDir("../web", url), join(dir, "..", "web"));
});

Deno.test("versionText() names program, version and commit", () => {
  assert.equal(
    versionText("machine-server", describeBuild(stamp, "/b", false)),
    "machine-server 1.2.3 (commit abc1234)",
  );
});
