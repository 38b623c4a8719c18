import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/time/fake_clock.ts";
import { FAKE_APIS, FAKE_WEAK_DEPENDENCIES } from "./fake_apis.ts";
import { fakeModels } from "./fakes.ts";

Deno.test("fakeModels() has one model for each API that is said to have a fake", () => {
  const models = fakeModels({ clock: new FakeClock() }).list();
  assert.deepEqual(models.map(({ api }) => api), [...FAKE_APIS].sort());
  assert.deepEqual(new Set(models.map(({ model }) => model)), new Set(["rdk:builtin:fake"]));
});

Deno.test("fakeModels() depends on nothing but what is said before they are loaded", () => {
  const models = fakeModels({ clock: new FakeClock() }).list();
  const weak = models.filter(({ weakDependencies }) => weakDependencies)
    .map(({ api, weakDependencies }) => [api, weakDependencies]);
  assert.deepEqual(Object.fromEntries(weak), FAKE_WEAK_DEPENDENCIES);
  assert.deepEqual(models.filter(({ dependencies }) => dependencies), []);
});
