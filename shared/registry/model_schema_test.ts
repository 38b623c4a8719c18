import assert from "node:assert/strict";
import { LONGEST_SCHEMA, modelSchemaProblem } from "./model_schema.ts";

Deno.test("modelSchemaProblem() finds nothing in what forms are made of", () => {
  for (
    const schema of [
      {},
      {
        type: "object",
        required: ["pin"],
        properties: {
          pin: { $ref: "#/$defs/pin" },
          mode: { enum: ["a", "b"], default: "a" },
          any: true,
          name: { type: ["string", "null"], pattern: "^[a-z]+$" },
        },
        additionalProperties: false,
        $defs: { pin: { type: "integer", minimum: 0 } },
      },
    ]
  ) assert.equal(modelSchemaProblem(schema), undefined);
});

Deno.test("modelSchemaProblem() says where something is wrong", () => {
  let deep: Record<string, unknown> = {};
  for (let level = 0; level < 50; level++) deep = { items: deep };
  const wrong: [unknown, RegExp][] = [
    [[], /^it must be a JSON object$/],
    [{ type: "string" }, /^type is "string"; attributes are an "object"$/],
    [{ properties: { a: { type: "text" } } }, /^properties\.a\.type is "text"; allowed are array/],
    [{ properties: { a: 5 } }, /^properties\.a must be a schema/],
    [{ properties: [] }, /^properties must be an object$/],
    [{ anyOf: [{}, { pattern: "(" }] }, /^anyOf\[1\]\.pattern is no regular expression$/],
    [{ $ref: "https://example.com/x" }, /^\$ref is .*; it must lead into this schema$/],
    [{ items: { $ref: "#/$defs/none" } }, /^items\.\$ref is "#\/\$defs\/none"/],
    [{ required: "a" }, /^required must list names$/],
    [{ enum: "a" }, /^enum must be a list$/],
    [deep, /is deeper than 30 schemas$/],
    [{ description: "x".repeat(LONGEST_SCHEMA) }, /bytes; 65536 are allowed$/],
  ];
  for (const [schema, problem] of wrong) assert.match(modelSchemaProblem(schema) ?? "", problem);
});
