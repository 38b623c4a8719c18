import assert from "node:assert/strict";
import { gt } from "semver";
import { type Git, readStamp, versionFrom } from "./build_stamp.ts";

const git = (answers: Record<string, string | undefined>): Git => (command) =>
  Promise.resolve(command === undefined ? undefined : answers[command]);

Deno.test("versionFrom() takes the tag when it stands on the commit", () => {
  assert.equal(versionFrom("v1.2.3-0-gabc1234", "0.1.0"), "1.2.3");
  assert.equal(versionFrom("v1.2.3-0-gabc1234-dirty", "0.1.0"), "1.2.3");
  assert.equal(versionFrom("v1.2.3-rc.1-0-gabc1234", "0.1.0"), "1.2.3-rc.1");
});

Deno.test("versionFrom() sorts between two releases when commits follow the tag", () => {
  const version = versionFrom("v1.2.3-4-gabc1234", "0.1.0");
  assert.equal(version, "1.2.4-dev.4");
  assert.ok(gt(version, "1.2.3") && gt("1.2.4", version));
  const afterCandidate = versionFrom("v2.0.0-rc.1-4-gabc1234", "0.1.0");
  assert.ok(gt(afterCandidate, "2.0.0-rc.1") && gt("2.0.0-rc.2", afterCandidate));
});

Deno.test("versionFrom() takes the declared version when no tag is in sight", () => {
  assert.equal(versionFrom(undefined, "0.1.0"), "0.1.0");
});

Deno.test("readStamp() marks the commit when tracked files differ from it", async () => {
  const clean = { "rev-parse": "abc1234", describe: undefined, status: "" };
  assert.deepEqual(await readStamp(git(clean), "0.1.0"), { version: "0.1.0", commit: "abc1234" });
  const dirty = await readStamp(git({ ...clean, status: " M x.ts" }), "0.1.0");
  assert.equal(dirty.commit, "abc1234-dirty");
});

Deno.test("readStamp() says unknown when there is no repository", async () => {
  assert.deepEqual(await readStamp(git({}), "0.1.0"), { version: "0.1.0", commit: "unknown" });
});
