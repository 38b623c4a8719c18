import assert from "node:assert/strict";
import { withModel } from "./deploy.ts";
import { argumentsOf, versionOf, wrongArgument } from "./new_job.ts";

const model = { id: "acme/shapes", name: "shapes", version: "2" };

Deno.test("withModel() adds the model, or gives the entry of its package the version", () => {
  const entry = { name: "shapes", package: "acme/shapes", type: "ml_model", version: "2" };
  assert.deepEqual(withModel({ components: [] }, model), { components: [], packages: [entry] });
  const named = { ...entry, name: "eyes", version: "1", more: true };
  const other = { name: "shapes", package: "acme/other", type: "ml_model", version: "1" };
  assert.deepEqual(withModel({ packages: [other, named] }, model).packages, [
    ...[other, { ...named, version: "2" }],
  ]);
  assert.deepEqual(withModel({ packages: [other] }, model).packages, [
    ...[other, { ...entry, name: "shapes-2" }],
  ]);
});

Deno.test("argumentsOf() reads KEY=VALUE lines, and wrongArgument() finds what is none", () => {
  assert.deepEqual(argumentsOf(" epochs=3\n\nname=a=b\nx\n"), { epochs: "3", name: "a=b" });
  assert.equal(wrongArgument("epochs=3\nx y=1"), "x y=1");
  assert.equal(wrongArgument("epochs=\n"), undefined);
  assert.equal(versionOf(new Date(Date.UTC(2026, 0, 2, 3, 4, 5))), "2026-01-02T03-04-05");
});
