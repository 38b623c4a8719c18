import assert from "node:assert/strict";
import { builtinModels } from "../builtin.ts";
import { testEnvironment } from "../testing.ts";

const DOCUMENT = new URL("../../../docs/cameras.md", import.meta.url);

interface Entry {
  readonly api: string;
  readonly model: string;
  readonly attributes?: Record<string, unknown>;
}

Deno.test("the example of docs/cameras.md names models and attributes that there are", async () => {
  const text = /```json\n([^`]*)```/.exec(await Deno.readTextFile(DOCUMENT))?.[1] ?? "";
  const { components, services } = JSON.parse(text) as { components: Entry[]; services: Entry[] };
  const registry = builtinModels(testEnvironment());
  for (const { api, model, attributes = {} } of [...components, ...services]) {
    const found = registry.find(api, model);
    const known = Object.keys(found.attributeSchema["properties"] ?? {});
    const unknown = Object.keys(attributes).filter((name) => !known.includes(name));
    assert.deepEqual(unknown, [], `${api} ${model}`);
  }
});
