/** The resources that stand in the documentation. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Schema, Validator } from "@cfworker/json-schema";
import { systemClock } from "../../shared/base/time/clock.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { builtinModels } from "../../server/models/builtin.ts";
import { ROOT } from "../programs.ts";

const DOCS = join(ROOT, "docs");
const registry = builtinModels({
  ...{ clock: systemClock, processes: systemProcesses(), untrusted: false, variables: () => ({}) },
  home: ROOT,
});
await registry.dump();

interface Documented {
  readonly api: string;
  readonly model: string;
  readonly attributes?: JsonObject;
}

/** All resources with a built-in model in a JSON value. */
function* resourcesIn(value: unknown): Generator<Documented> {
  if (typeof value !== "object" || value === null) return;
  const { api, model } = value as Record<string, unknown>;
  if (typeof api === "string" && typeof model === "string" && model.startsWith("rdk:builtin:")) {
    yield value as Documented;
  }
  for (const inner of Object.values(value)) yield* resourcesIn(inner);
}

Deno.test("every resource in the documentation has attributes that its model takes", async () => {
  const counts: Record<string, number> = {};
  for await (const { name: page } of Deno.readDir(DOCS)) {
    // The small server has models of its own.
    if (!page.endsWith(".md") || page === "micro.md") continue;
    const text = await Deno.readTextFile(join(DOCS, page));
    for (const [, block = ""] of text.matchAll(/^```json\n([^]*?)^```$/gm)) {
      for (const { api, model, attributes = {} } of resourcesIn(JSON.parse(block))) {
        const where = `${page}: ${api} ${model} ${JSON.stringify(attributes)}`;
        const schema = registry.find(api, model).attributeSchema;
        const { valid, errors } = new Validator(schema as Schema).validate(attributes);
        assert.ok(valid, `${where}: ${JSON.stringify(errors)}`);
        const known = Object.keys(schema["properties"] as JsonObject ?? {});
        assert.deepEqual(Object.keys(attributes).filter((key) => !known.includes(key)), [], where);
        counts[page] = (counts[page] ?? 0) + 1;
      }
    }
  }
  for (const page of ["cameras", "drivers", "models", "remotes", "services", "video"]) {
    assert.ok(counts[`${page}.md`], `${page}.md has none`);
  }
});
