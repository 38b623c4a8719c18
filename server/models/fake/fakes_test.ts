import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FAKE_APIS } from "./fake_apis.ts";
import { fakeModels } from "./fakes.ts";

Deno.test("fakeModels() has one model for each API that is said to have a fake", () => {
  const models = fakeModels({ clock: new FakeClock() }).list();
  assert.deepEqual(models.map(({ api }) => api), [...FAKE_APIS].sort());
  assert.deepEqual(new Set(models.map(({ model }) => model)), new Set(["rdk:builtin:fake"]));
});

Deno.test("fakeModels() has no model whose attributes or API make it depend on others", () => {
  const models = fakeModels({ clock: new FakeClock() }).list();
  const depending = models.filter((model) => model.dependencies || model.weakDependencies);
  assert.deepEqual(depending.map(({ api }) => api), []);
});
