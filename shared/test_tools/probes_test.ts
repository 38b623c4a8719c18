import assert from "node:assert/strict";
import process from "node:process";
import { noGoModulesBecause, noPythonPackagesBecause } from "./probes.ts";

Deno.test("noGoModulesBecause() says why when there is no Go", async () => {
  assert.match(await noGoModulesBecause("/nowhere/go") ?? "", /^no Go modules can be had here: /);
});

Deno.test("noPythonPackagesBecause() says why when there is no Python", async () => {
  const before = process.env.PATH;
  process.env.PATH = "/nowhere";
  try {
    assert.match(
      await noPythonPackagesBecause() ?? "",
      /^no Python packages can be installed here: /,
    );
  } finally {
    process.env.PATH = before ?? "";
  }
});
