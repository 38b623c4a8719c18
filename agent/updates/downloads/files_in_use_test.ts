import assert from "node:assert/strict";
import { FilesInUse } from "./files_in_use.ts";

Deno.test("paths() throws until every user has reported", () => {
  const inUse = new FilesInUse(["machine-agent", "machine-server"]);
  inUse.set("machine-agent", ["/cache/a"]);
  inUse.set("downloads", ["/cache/part/b"]);
  assert.throws(() => inUse.paths(), /^Error: the files of machine-server are not known yet$/);
  inUse.set("machine-server", []);
  assert.deepEqual(inUse.paths().sort(), ["/cache/a", "/cache/part/b"]);
});

Deno.test("set() replaces what the user reported before", () => {
  const inUse = new FilesInUse();
  inUse.set("downloads", ["/cache/part/a", "/cache/part/b"]);
  inUse.set("machine-server", ["/cache/c"]);
  inUse.set("downloads", ["/cache/part/b"]);
  assert.deepEqual(inUse.paths().sort(), ["/cache/c", "/cache/part/b"]);
});
