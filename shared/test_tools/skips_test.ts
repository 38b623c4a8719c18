import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { ignoreBecause, ignoreWithout, missingTools, SKIPS_FILE } from "./skips.ts";
import { browserPath, isThere, programPath, type Tool } from "./tools.ts";

const tool = (...finds: string[]): Tool => ({ finds, packages: ["p"] });

Deno.test("isThere() finds programs, files and modules of Python, all that are named", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const script = '#!/bin/sh\n[ "$2" = "import here" ]\n';
    await Deno.writeTextFile(join(dir, "made-up"), script, { mode: 0o755 });
    await Deno.mkdir(join(dir, "folder"));
    assert.equal(isThere(tool("made-up"), dir), true);
    assert.equal(isThere(tool("made-up", "not-there"), dir), false);
    assert.equal(isThere(tool("folder"), dir), false);
    assert.equal(isThere(tool("not-there|made-up"), dir), true);
    assert.equal(isThere(tool("not-there|folder"), dir), false);
    assert.equal(isThere(tool(join(dir, "made-up")), dir), true);
    assert.equal(isThere(tool(join(dir, "other")), dir), false);
    if (Deno.build.os === "windows") return;
    assert.equal(isThere(tool("made-up:here"), dir), true);
    assert.equal(isThere(tool("made-up:there"), dir), false);
    assert.equal(isThere(tool("other:here"), dir), false);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("programPath() is undefined, and nothing is started, when there is no such program", () => {
  assert.equal(programPath("no-program-of-this-name"), undefined);
});

Deno.test({
  name: "browserPath() takes the one without windows, else the other",
  ignore: Deno.build.os === "windows",
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      assert.equal(browserPath(dir), undefined);
      for (const name of ["chromium", "chromium-headless-shell"]) {
        await Deno.writeTextFile(join(dir, name), "");
        assert.equal(browserPath(dir), join(dir, name));
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "missingTools() says nothing when all are there",
  ignore: programPath("curl") === undefined,
  fn: () => assert.equal(missingTools("curl"), undefined),
});

Deno.test("ignoreBecause() tells the reason in one line, in the file of the runner", async () => {
  const file = await Deno.makeTempFile();
  const before = process.env[SKIPS_FILE];
  process.env[SKIPS_FILE] = file;
  try {
    assert.equal(ignoreBecause(import.meta.url, undefined), false);
    assert.equal(await Deno.readTextFile(file), "");
    assert.equal(ignoreBecause(import.meta.url, "no\n  x here "), true);
    assert.deepEqual(JSON.parse(await Deno.readTextFile(file)), {
      reason: "no x here",
      file: "shared/test_tools/skips_test.ts",
    });
  } finally {
    if (before === undefined) delete process.env[SKIPS_FILE];
    else process.env[SKIPS_FILE] = before;
    await Deno.remove(file);
  }
});

Deno.test("ignoreWithout() names what to install when a tool is missing", async () => {
  const file = await Deno.makeTempFile();
  const before = { skips: process.env[SKIPS_FILE], path: process.env.PATH };
  process.env[SKIPS_FILE] = file;
  process.env.PATH = "/nowhere";
  try {
    assert.equal(ignoreWithout(import.meta.url, "wget"), true);
    assert.match(
      await Deno.readTextFile(file),
      /"no wget here \(Debian: apt-get install wget\)"/,
    );
  } finally {
    process.env.PATH = before.path ?? "";
    if (before.skips === undefined) delete process.env[SKIPS_FILE];
    else process.env[SKIPS_FILE] = before.skips;
    await Deno.remove(file);
  }
});
