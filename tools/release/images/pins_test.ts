import assert from "node:assert/strict";
import { join } from "node:path";
import { packageFile } from "./apt.ts";
import { BASE, pinsText, readPins } from "./pins.ts";

const text = await Deno.readTextFile(join(import.meta.dirname ?? ".", "packages.txt"));

Deno.test("packages.txt pins the same packages for both processors", () => {
  const { packages } = readPins(text);
  const of = (processor: string) =>
    packages.filter(({ architecture }) => architecture === processor)
      .map(({ layer, name }) => `${layer} ${name}`);
  assert.deepEqual(of("amd64"), of("arm64"));
  for (const name of BASE) assert.ok(of("arm64").includes(`base ${name}`), name);
  assert.ok(of("arm64").includes("tools bash"));
});

Deno.test("readPins() reads what pinsText() writes, and names a wrong line", () => {
  assert.equal(pinsText(readPins(text)), text);
  assert.throws(
    () => readPins("base amd64 libc6 2.36 nothex\n"),
    /this line is no pin: base amd64/,
  );
  assert.throws(() => readPins(""), /has no pins/);
});

Deno.test("packageFile() matches apt's name of a file, and no other version", () => {
  const form = packageFile({ name: "libstdc++6", version: "1:12.2+1", architecture: "amd64" });
  assert.match("libstdc++6_1%3a12.2+1_amd64.deb", form);
  assert.match("libstdc++6_1%3a12.2+1_all.deb", form);
  assert.doesNotMatch("libstdc++6_1%3a12.2+11_amd64.deb", form);
  assert.doesNotMatch("libstdc++6_1%3a12.2+1_arm64.deb", form);
});
