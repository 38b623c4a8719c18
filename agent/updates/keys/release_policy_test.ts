import assert from "node:assert/strict";
import type { Target } from "../updater/target.ts";
import { ReleasePolicy } from "./release_policy.ts";

const target: Target = { version: "1.2.0", url: "https://x/y", sha256: "", signature: "ab" };

function policy({ pinned = false, problem = undefined as string | undefined } = {}) {
  return new ReleasePolicy({
    platform: "linux/amd64",
    keys: { arePinned: pinned, problemOf: () => Promise.resolve(problem) },
    lowest: { of: (_, current) => Promise.resolve(current === "" ? undefined : current) },
  });
}

const problemOf = async (rules: ReleasePolicy, changes: Partial<Target>, current = "1.1.0") =>
  await rules.problemOf("machine-server", { ...target, ...changes }, current) ?? "";

Deno.test("ReleasePolicy refuses an older release with pinned keys, and says how to go back", async () => {
  const pinned = policy({ pinned: true });
  assert.equal(await problemOf(pinned, {}), "");
  assert.equal(await problemOf(pinned, {}, "1.2.0"), "");
  assert.equal(await problemOf(pinned, {}, ""), "", "the first one");
  assert.match(
    await problemOf(pinned, {}, "1.10.0"),
    /1\.2\.0 is older than 1\.10\.0.*machine-agent allow-version 1\.2\.0 --program machine-server/,
  );
  assert.match(await problemOf(pinned, { version: "1.2.0-rc.1" }, "1.2.0"), /is older/);
  assert.match(await problemOf(pinned, { version: "customURL" }), /no version that could/);
  assert.equal(await problemOf(policy(), {}, "2.0.0"), "", "the cloud may take machines back");
});

Deno.test("ReleasePolicy wants a hash for what comes over plain http", async () => {
  const asks: [string, string, boolean][] = [
    ["http://files.example/server", "", false],
    ["http://192.168.1.7:8080/server", "", false],
    ["http://127.0.0.1.example/server", "", false],
    ["http://files.example/server", "ab".repeat(32), true],
    ["http://127.0.0.1:9/server", "", true],
    ["http://[::1]:9/server", "", true],
    ["https://files.example/server", "", true],
    ["file:///opt/server", "", true],
  ];
  for (const [url, sha256, isFine] of asks) {
    const problem = await problemOf(policy(), { version: "customURL", url, sha256 });
    assert.equal(problem === "", isFine, `${url} ${problem}`);
    if (!isFine) assert.match(problem, /not fetched over plain http.*#sha256=HEX/);
  }
});

Deno.test("ReleasePolicy passes on what the cloud and the keys say, and knows its platform", async () => {
  assert.equal(await problemOf(policy(), { problem: "there is none" }), "there is none");
  assert.equal(await problemOf(policy({ problem: "not signed" }), {}), "not signed");
  assert.match(
    await problemOf(policy(), { platform: "linux/arm64" }),
    /for linux\/arm64, and this machine is linux\/amd64/,
  );
});
