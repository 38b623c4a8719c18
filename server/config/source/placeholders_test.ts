import assert from "node:assert/strict";
import type { PackageFolder } from "../../modules/packages/package_types.ts";
import { resolvePlaceholders, substituteVariables } from "./placeholders.ts";

const read = (name: string) => ({ PORT: "80", DIR: "/data" })[name];

Deno.test("substituteVariables() puts values in and names what is not set", () => {
  const text = '{"a": ${PORT}, "b": "${DIR}/x", "c": "${NOPE}", "d": "$PORT ${environment.DIR}"}';
  assert.deepEqual(substituteVariables(text, read), {
    text: '{"a": 80, "b": "/data/x", "c": "", "d": "$PORT ${environment.DIR}"}',
    missing: ["NOPE"],
  });
});

const packages: Record<string, PackageFolder> = {
  "ml_model.cat": { path: "/p/cat" },
  "module.drv": { path: "/p/drv" },
  "ml_model.new": { pending: "3 of 9 MB are here" },
  "ml_model.newer": { pending: "3 of 9 MB are here", previous: "/p/old" },
  "archive.bad": { problem: "its checksum is wrong" },
};
const sources = {
  read,
  findPackage: (type: string, name: string) => packages[`${type}.${name}`],
};

Deno.test("resolvePlaceholders() reaches strings at every depth and leaves what is not set", () => {
  const attributes = { a: ["${environment.DIR}/y", 1], b: { c: "${environment.NOPE}", d: null } };
  assert.deepEqual(resolvePlaceholders(attributes, sources), {
    value: { a: ["/data/y", 1], b: { c: "${environment.NOPE}", d: null } },
    missing: ["NOPE"],
    pending: undefined,
    problem: undefined,
  });
});

const cases = [
  { text: "${packages.cat}/m.tflite", value: "/p/cat/m.tflite" },
  { text: "${packages.ml_model.cat}/m", value: "/p/cat/m" },
  { text: "${packages.module.drv}/bin/run", value: "/p/drv/bin/run" },
  { text: "${packages.newer}/m", value: "/p/old/m" },
  { text: "${packages.new}", pending: "waiting for package new: 3 of 9 MB are here" },
  { text: "${packages.archive.bad}", problem: "package bad: its checksum is wrong" },
  {
    text: "${packages.none}",
    problem: "there is no package none of type ml_model in the configuration",
  },
];

for (const { text, value, pending, problem } of cases) {
  Deno.test(`resolvePlaceholders() gives ${value ?? pending ?? problem} when it reads ${text}`, () => {
    assert.deepEqual(resolvePlaceholders(text, sources), {
      value: value ?? text,
      missing: [],
      pending,
      problem,
    });
  });
}
