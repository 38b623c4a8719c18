import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { machineConfigJsonSchema } from "./json_schema.ts";

interface Node {
  description?: string;
  properties?: Record<string, Node>;
  items?: Node;
  additionalProperties?: Node | boolean;
  anyOf?: Node[];
  [key: string]: unknown;
}

function walk(node: Node, path: string, visit: (node: Node, path: string) => void): void {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    visit(child, `${path}.${key}`);
    walk(child, `${path}.${key}`, visit);
  }
  if (node.items) walk(node.items, `${path}[]`, visit);
  if (typeof node.additionalProperties === "object") {
    walk(node.additionalProperties, `${path}.*`, visit);
  }
  for (const option of node.anyOf ?? []) walk(option, path, visit);
}

Deno.test("machineConfigJsonSchema() describes every field", () => {
  const undescribed: string[] = [];
  let fields = 0;
  walk(machineConfigJsonSchema() as Node, "", (node, path) => {
    fields++;
    if (!node.description) undescribed.push(path);
  });
  deepStrictEqual(undescribed, []);
  strictEqual(fields > 200, true, `${fields} fields`);
});

Deno.test("machineConfigJsonSchema() tells types, ranges, defaults and choices", () => {
  const at = new Map<string, Node>();
  walk(machineConfigJsonSchema() as Node, "", (node, path) => at.set(path, node));
  const agent = ".agent.additional_networks.*";
  strictEqual(at.get(`${agent}.priority`)?.["minimum"], -999);
  strictEqual(at.get(`${agent}.priority`)?.["maximum"], 999);
  deepStrictEqual(at.get(`${agent}.type`)?.["enum"], ["wifi", "wired"]);
  strictEqual(at.get(".agent.network_configuration.user_idle_minutes")?.["default"], 5);
  strictEqual(at.get(".components[].name")?.["pattern"], "^[a-zA-Z0-9][-\\w]*$");
  strictEqual(at.get(".components[].name")?.["maxLength"], 60);
  strictEqual(at.get(".components[].depends_on")?.["type"], "array");
  deepStrictEqual(at.get(".triggers[].event.type")?.["enum"], [
    "part_online",
    "part_offline",
    "part_data_ingested",
    "conditional_data_ingested",
    "conditional_logs_ingested",
  ]);
});

Deno.test("machineConfigJsonSchema() lets unknown keys stand", () => {
  const schema = machineConfigJsonSchema() as Node;
  strictEqual(schema.additionalProperties === false, false);
});
