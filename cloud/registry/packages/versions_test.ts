import assert from "node:assert/strict";
import { versionProblem } from "../../../shared/registry/item_rules.ts";
import { type Candidate, chooseFile } from "./versions.ts";

const LINUX = "linux/amd64";

function files(...list: string[]): Candidate[] {
  return list.map((text, at) => {
    const [version = "", platform = "any"] = text.split(" ");
    return { version, platform, createdAtMs: at };
  });
}

function choose(list: readonly Candidate[], version: string, platform: string | undefined = LINUX) {
  const choice = chooseFile(list, { type: "module", version, platform });
  switch (choice.kind) {
    case "found":
      return `${choice.file.version} ${choice.file.platform}`;
    case "ambiguous":
      return choice.files.map((file) => file.platform);
    case "none":
      return choice.problem;
  }
}

Deno.test("chooseFile() chooses as npm does", () => {
  const list = files("1.10.0", "1.2.0", "1.2.9", "2.0.0-rc.1", "0.3.1", "0.3.7");
  const cases: [wanted: string, version: string][] = [
    ["", "1.10.0"],
    ["latest", "1.10.0"],
    ["latest-with-prerelease", "2.0.0-rc.1"],
    ["1.2.0", "1.2.0"],
    ["v1.2.0", "1.2.0"],
    ["^1.2", "1.10.0"],
    ["~1.2", "1.2.9"],
    ["1", "1.10.0"],
    ["1.2.x", "1.2.9"],
    ["^0.3.1", "0.3.7"],
    [">=0.3 <1", "0.3.7"],
    ["2.0.0-rc.1", "2.0.0-rc.1"],
    ["^2.0.0-rc.0", "2.0.0-rc.1"],
  ];
  for (const [wanted, version] of cases) {
    assert.equal(choose(list, wanted), `${version} any`, wanted);
  }
});

Deno.test("chooseFile() says which versions there are when none matches", () => {
  const list = files("1.0.0 linux/arm64", "1.1.0 linux/arm64", "1.1.0 windows/amd64", "2.0.0-rc.1");
  assert.equal(
    choose(list, "^3"),
    "has no version ^3 for linux/amd64; there are 2.0.0-rc.1 (any), " +
      "1.1.0 (windows/amd64, linux/arm64), 1.0.0 (linux/arm64)",
  );
  assert.match(String(choose(list, "latest")), /^has no version that is no pre-release for linux/);
  assert.match(String(choose(list, "newest")), /cannot be queried for version "newest"; write a/);
  assert.equal(choose([], "latest"), "has no versions yet; upload one");
  const many = files(...Array.from({ length: 30 }, (_, at) => `1.${at}.0`));
  assert.match(String(choose(many, "2")), /1\.10\.0 \(any\) and 10 more$/);
});

Deno.test("chooseFile() takes the newest version that runs on the host, best match first", () => {
  const list = files(
    "1.0.0 linux/amd64",
    "1.0.0 any",
    "1.0.0 linux/any",
    "1.1.0 windows/amd64",
    "0.9.0 darwin/any",
  );
  assert.equal(choose(list, "latest", "linux/amd64"), "1.0.0 linux/amd64");
  assert.equal(choose(list, "latest", "linux/arm64"), "1.0.0 linux/any");
  assert.equal(choose(list, "latest", "windows/amd64"), "1.1.0 windows/amd64");
  assert.equal(choose(list, "latest", "darwin/arm64"), "1.0.0 any");
  assert.equal(choose(list, "0.9.0", "darwin/arm64"), "0.9.0 darwin/any");
});

Deno.test("chooseFile() does not guess a platform", () => {
  const unknown = (list: readonly Candidate[]) => {
    const choice = chooseFile(list, { type: "module", version: "", platform: undefined });
    return choice.kind === "ambiguous" ? choice.files.length : choice.kind;
  };
  assert.equal(unknown(files("1.0.0 linux/amd64", "1.0.0 linux/arm64")), 2);
  assert.equal(unknown(files("1.0.0 linux/amd64", "1.0.0 any")), "found");
  assert.equal(unknown(files("1.0.0 linux/amd64")), "found");
});

Deno.test("chooseFile() takes the model that was uploaded last, whatever its version is called", () => {
  const list = files("2026-08-01", "9.9.9", "2026-07-01");
  const choose = (version: string) =>
    chooseFile(list, { type: "ml_model", version, platform: LINUX });
  assert.deepEqual(choose("latest"), { kind: "found", file: list[2] });
  assert.deepEqual(choose("2026-08-01"), { kind: "found", file: list[0] });
  assert.deepEqual(choose("^9"), { kind: "found", file: list[1] });
  assert.equal(choose("1.0.0").kind, "none");
});

Deno.test("versionProblem() wants versions of modules in the form of npm", () => {
  for (const good of ["0.0.1", "1.2.3", "1.2.3-rc.1", "10.20.30"]) {
    assert.equal(versionProblem(good, "module"), undefined, good);
  }
  for (const bad of ["", "1", "1.2", "v1.2.3", "1.2.3+b", "01.2.3", "latest", " 1.2.3", "^1.2.3"]) {
    assert.ok(versionProblem(bad, "module"), bad);
  }
  for (const good of ["1", "2026-08-20T10-00-00", "v7", "1.2.3+b"]) {
    assert.equal(versionProblem(good, "ml_model"), undefined, good);
  }
  for (const bad of ["", "latest", "../x", "a b", "a/b", "-1", "x".repeat(101)]) {
    assert.ok(versionProblem(bad, "ml_model"), bad);
  }
});
