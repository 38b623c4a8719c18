import assert from "node:assert/strict";
import { formSchema } from "./form_schema.ts";

Deno.test("formSchema() replaces references and what may be null", () => {
  const schema = {
    $defs: { pin: { type: "integer", minimum: 0 } },
    properties: {
      pin: { $ref: "#/$defs/pin", title: "Pin" },
      name: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
      unit: { type: ["string", "null"] },
      either: { anyOf: [{ type: "string" }, { type: "number" }] },
      list: { items: { $ref: "#/$defs/pin" } },
      any: true,
    },
  };
  assert.deepEqual(formSchema(schema).properties, {
    pin: { type: "integer", minimum: 0, title: "Pin" },
    name: { type: "string", default: null },
    unit: { type: "string" },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    list: { items: { type: "integer", minimum: 0 } },
    any: {},
  });
});

Deno.test("formSchema() ends with schemas that refer to themselves, or multiply", () => {
  const self = { properties: { again: { $ref: "#" } } };
  assert.ok(formSchema(self).properties?.["again"]?.properties?.["again"]);
  assert.deepEqual(formSchema({ $ref: "#" }), {});
  const $defs: Record<string, object> = { "0": { type: "string" } };
  for (let level = 1; level <= 11; level++) {
    const below = { $ref: `#/$defs/${level - 1}` };
    $defs[level] = { properties: { a: below, b: below, c: below, d: below } };
  }
  const size = JSON.stringify(formSchema({ ...$defs["11"], $defs }).properties).length;
  assert.ok(size < 200_000, String(size));
});
