import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../programs.ts";
import { billOfMaterials, folderOf, type Lock, packagesOf, withDependencies } from "./sbom.ts";

const lock: Lock = {
  npm: {
    "@a/b@1.0.0_c@2.0.0": { integrity: "sha512-AAEC", dependencies: ["c"] },
    "c@2.0.0": { integrity: "sha512-AwQF" },
    "d@3.0.0": { integrity: "sha512-BgcI", dependencies: ["c@2.0.0"] },
  },
};

Deno.test("packagesOf() finds packages by the folders of their files", () => {
  const files = [
    "server/main.ts",
    "node_modules/.deno/@a+b@1.0.0/node_modules/@a/b/index.js",
    "node_modules/.deno/d@3.0.0_x@1.0.0/node_modules/d/index.js",
  ];
  assert.deepEqual([...packagesOf(files, lock)], ["@a/b@1.0.0_c@2.0.0", "d@3.0.0"]);
  const unknown = ["node_modules/.deno/e@1.0.0/node_modules/e/index.js"];
  assert.throws(() => packagesOf(unknown, lock), /belongs to no package of deno\.lock/);
});

Deno.test("packagesOf() finds every package of deno.lock", async () => {
  const locked = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.lock"))) as Lock;
  for (const key of Object.keys(locked.npm)) {
    const file = `node_modules/.deno/${folderOf(key)}_1/node_modules/x/index.js`;
    assert.ok(packagesOf([file], locked).has(key), key);
  }
});

Deno.test("withDependencies() adds what packages need", () => {
  assert.deepEqual([...withDependencies(["d@3.0.0"], lock)], ["d@3.0.0", "c@2.0.0"]);
});

Deno.test("billOfMaterials() names each package with its hash, licence and programs", () => {
  const bill = billOfMaterials({
    ...{ version: "1.0.0", commit: "abc1234", time: new Date(0), lock, deno: "2.9.6" },
    programs: [{ name: "machine-server", packages: new Set(["@a/b@1.0.0_c@2.0.0"]) }],
    licence: (key) => key.startsWith("@a") ? "MIT" : undefined,
  }) as {
    components: Record<string, unknown>[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  const library = bill.components.find(({ name }) => name === "b");
  assert.deepEqual(library, {
    "type": "library",
    "bom-ref": "pkg:npm/%40a/b@1.0.0#@a/b@1.0.0_c@2.0.0",
    "group": "@a",
    "name": "b",
    "version": "1.0.0",
    "scope": "required",
    "hashes": [{ alg: "SHA-512", content: "000102" }],
    "licenses": [{ expression: "MIT" }],
    "purl": "pkg:npm/%40a/b@1.0.0",
    "properties": [{ name: "program", value: "machine-server" }],
  });
  assert.equal(bill.components.find(({ name }) => name === "d")?.["scope"], "excluded");
  const known = new Set(["machine", ...bill.components.map((each) => each["bom-ref"])]);
  for (const { ref, dependsOn } of bill.dependencies) {
    for (const each of [ref, ...dependsOn]) assert.ok(known.has(each), each);
  }
});
