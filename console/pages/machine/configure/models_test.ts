import assert from "node:assert/strict";
import { type Addable, freeName, withAdded } from "./models.ts";
import { apiOfEntry, modelOfEntry, schemaAt } from "../../../configuration/schema.ts";

const arm: Addable & { kind: "model" } = {
  kind: "model",
  api: "rdk:component:arm",
  model: "acme:arms:a1",
  text: "arm",
  module: "acme:arms",
};

Deno.test("withAdded() puts a resource into its section, and its module once", () => {
  const once = withAdded({}, arm, "arm-1");
  assert.deepEqual(once, {
    components: [{ name: "arm-1", api: arm.api, model: arm.model, attributes: {} }],
    modules: [{ name: "acme-arms", type: "registry", module_id: "acme:arms", version: "latest" }],
  });
  const twice = withAdded(once, arm, freeName(once, arm.api));
  assert.deepEqual(
    [twice.components, twice.modules].map((list) => Array.isArray(list) ? list.length : 0),
    [2, 1],
  );
  const service = { ...arm, api: "rdk:service:vision", module: undefined };
  assert.deepEqual(Object.keys(withAdded({}, service, "eye")), ["services"]);
  assert.deepEqual(withAdded({}, { kind: "fragment", id: "f-1", text: "x" }, ""), {
    fragments: [{ id: "f-1" }],
  });
});

Deno.test("freeName() counts on from what is there", () => {
  const config = { components: [{ name: "arm-1" }], services: [{ name: "arm-2" }] };
  assert.equal(freeName(config, "rdk:component:arm"), "arm-3");
});

Deno.test("apiOfEntry() and modelOfEntry() read old forms as the server does", () => {
  assert.equal(apiOfEntry({ type: "sensor" }, "components"), "rdk:component:sensor");
  assert.equal(apiOfEntry({ api: "a:service:b", type: "x" }, "services"), "a:service:b");
  assert.equal(modelOfEntry({ model: "fake" }), "rdk:builtin:fake");
  assert.equal(modelOfEntry({ model: { name: "fake" } }), "rdk:builtin:fake");
});

Deno.test("schemaAt() knows attributes by the model of their resource", () => {
  const root = {
    properties: {
      components: { items: { properties: { name: { type: "string" }, attributes: {} } } },
    },
  };
  const models = [{
    ...{ api: "rdk:component:sensor", model: "rdk:builtin:http" },
    attributes: { properties: { url: { type: "string", description: "Where" } } },
  }];
  const config = { components: [{ name: "a", type: "sensor", model: "http", attributes: {} }] };
  const at = (...path: (string | number)[]) => schemaAt(root, path, config, models);
  assert.equal(at("components", 0, "attributes", "url")?.description, "Where");
  assert.equal(at("components", 0, "name")?.type, "string");
  assert.equal(at("components", 0, "attributes", "none"), undefined);
  assert.equal(at("nowhere", 1), undefined);
});
