import assert from "node:assert/strict";
import { join } from "node:path";
import {
  beginTrial,
  endTrial,
  forgetRollback,
  forgiveStart,
  guardFiles,
  readRollback,
  readTrial,
  writeRollback,
} from "./trial_file.ts";

function test(name: string, body: (dir: string) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      const dir = await Deno.makeTempDir();
      try {
        for (const folder of ["bin", "etc"]) await Deno.mkdir(join(dir, folder));
        await body(dir);
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    },
  });
}

const versions = { trial: "/c/new =1", previous: "/c/old" };

test("beginTrial() keeps the trial and the way back until endTrial()", async (dir) => {
  assert.equal(await readTrial(dir), undefined);
  await beginTrial(dir, versions);
  assert.deepEqual(await readTrial(dir), { ...versions, limitS: 900, starts: 0, boots: 0 });
  assert.equal(await Deno.readLink(guardFiles(dir).previousLink), versions.previous);
  await endTrial(dir);
  await endTrial(dir);
  assert.equal(await readTrial(dir), undefined);
  assert.equal(await Deno.readLink(guardFiles(dir).previousLink), versions.previous);
});

test("beginTrial() refuses a path that would add lines", async (dir) => {
  await assert.rejects(beginTrial(dir, { ...versions, trial: "/c/a\nprevious=/x" }), /line feed/);
  assert.equal(await readTrial(dir), undefined);
});

test("forgiveStart() takes one start back and never goes below none", async (dir) => {
  await forgiveStart(dir);
  await beginTrial(dir, versions);
  const { trial } = guardFiles(dir);
  await Deno.writeTextFile(trial, (await Deno.readTextFile(trial)).replace("starts=0", "starts=2"));
  for (const left of [1, 0, 0]) {
    await forgiveStart(dir);
    const read = await readTrial(dir);
    assert(typeof read === "object");
    assert.equal(read.starts, left);
  }
});

test("writeRollback() leaves one note that readRollback() gives until it is forgotten", async (dir) => {
  assert.equal(await readRollback(dir), undefined);
  const at = new Date("2026-01-02T03:04:05Z");
  await writeRollback(dir, { from: "/c/new", to: "/c/old", reason: "lost\nthe cloud", at });
  assert.deepEqual(await readRollback(dir), {
    from: "/c/new",
    to: "/c/old",
    reason: "lost the cloud",
    at,
  });
  await forgetRollback(dir);
  await forgetRollback(dir);
  assert.equal(await readRollback(dir), undefined);
});

test("readTrial() and readRollback() tell a damaged file from none", async (dir) => {
  const { trial, rollback } = guardFiles(dir);
  await beginTrial(dir, versions);
  const whole = await Deno.readTextFile(trial);
  for (let length = 0; length < whole.length; length++) {
    await Deno.writeTextFile(trial, whole.slice(0, length));
    assert.equal(await readTrial(dir), "damaged", `${length} characters`);
  }
  await Deno.writeTextFile(rollback, "nonsense");
  assert.match((await readRollback(dir))?.reason ?? "", /note is damaged/);
});
