import assert from "node:assert/strict";
import { isOffline } from "./apt.ts";

const failed = (command: string, text: string) =>
  `apt-get ${command} … failed: E: ${text}\nWhere a pinned version is gone, make images PIN=1 …`;
const FETCH = "Failed to fetch http://deb.example/bash.deb ";

Deno.test("isOffline: apt reaches no server", () => {
  assert.ok(isOffline(failed("update --error-on=any", "Some index files failed to download.")));
  for (
    const text of [
      `${FETCH} Temporary failure resolving 'deb.example'`,
      `${FETCH} Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection refused)`,
      `${FETCH} Unable to connect to deb.example:http:`,
    ]
  ) assert.ok(isOffline(failed("download bash", text)), text);
});

Deno.test("isOffline: not when a package is gone, or when something else failed", () => {
  assert.ok(!isOffline(failed("download bash", `${FETCH} 404  Not Found [IP: 127.0.0.1 80]`)));
  assert.ok(!isOffline(failed("download bash", "Version '5.1' for 'bash' was not found")));
  assert.ok(!isOffline("dpkg-deb: Could not connect"));
});
