import { deepEqual, equal, throws } from "node:assert/strict";
import { fillBlocks } from "./blocks.ts";
import { fieldRows, fieldTable } from "./schema_table.ts";

const schema = {
  required: ["name"],
  properties: {
    name: { type: "string", description: "Who. One word." },
    size: { type: "integer", minimum: 1, maximum: 9, description: "How large. Default: 3." },
    kind: { enum: ["a", "b"], default: "a", description: "Which." },
    list: {
      type: "array",
      items: { properties: { x: { type: "number", description: "An <x>." } } },
    },
    map: { type: "object", additionalProperties: { properties: { y: { type: "boolean" } } } },
    either: { anyOf: [{ type: "string" }, { properties: { z: {} } }] },
  },
};

Deno.test("fieldRows() names every field with type, default and meaning", () => {
  const rows = fieldRows(schema);
  deepEqual(
    rows.map(({ path, type }) => `${path}: ${type}`),
    [
      "name: text",
      "size: whole number, 1 to 9",
      "kind: `a`, `b`",
      "list: list of anything",
      "list[].x: number",
      "map: object",
      "map.*.y: true or false",
      "either: text or anything",
      "either.z: anything",
    ],
  );
  deepEqual(rows[1], {
    path: "size",
    type: "whole number, 1 to 9",
    isRequired: false,
    default: "3",
    meaning: "How large.",
  });
  deepEqual([rows[0]?.isRequired, rows[2]?.default], [true, "`a`"]);
  equal(fieldRows(schema, "", ["list[]"]).length, rows.length - 1);
});

Deno.test("fieldRows() takes a default only from a sentence that says one", () => {
  const meaningOf = (description: string) => {
    const [row] = fieldRows({ properties: { x: { type: "string", description } } });
    return [row?.meaning, row?.default];
  };
  const plain = "A password. Keeping the default is a risk. Say more.";
  deepEqual(meaningOf(plain), [plain, ""]);
  deepEqual(meaningOf("How long. Default: 1.5 s. At most 3 s."), [
    "How long. At most 3 s.",
    "1.5 s",
  ]);
  deepEqual(meaningOf("Default rdk. A name."), ["A name.", "rdk"]);
});

Deno.test("fieldTable() lets no text mean anything to Markdown", () => {
  const [, , row] = fieldTable(fieldRows(schema.properties.list)).split("\n");
  equal(row, "| `[].x` | number | – | An \\<x\\>. |");
});

Deno.test("fillBlocks() replaces blocks, and knows every one of them", () => {
  const text = "a\n<!-- generated: t -->\nold\n<!-- end -->\nb\n";
  const filled = fillBlocks(text, new Map([["t", "new"]]));
  equal(filled, "a\n<!-- generated: t -->\n\nnew\n\n<!-- end -->\nb\n");
  equal(fillBlocks(filled, new Map([["t", "new"]])), filled);
  throws(() => fillBlocks(text, new Map()), /no generated block "t"/);
  throws(() => fillBlocks("", new Map([["t", ""]])), /no place for the generated block t/);
});
