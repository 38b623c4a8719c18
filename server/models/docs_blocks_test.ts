/** The configurations of the documentation are taken as they stand there. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { isJsonObject } from "../../shared/base/json/json.ts";
import { parseMachineConfig } from "../../shared/config/parse.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { AttributeError } from "../resources/graph/attributes.ts";
import type { RegisteredModel } from "../resources/graph/registry.ts";
import { builtinModels } from "./builtin.ts";
import { testEnvironment } from "./testing.ts";

const DOCS = new URL("../../docs/", import.meta.url);
const PAGES = ["drivers.md", "remotes.md", "services.md", "video.md"];

/** Of a block that is a whole configuration, or one component or service. */
function configOf(block: JsonValue): JsonObject | undefined {
  if (!isJsonObject(block)) return undefined;
  if ("components" in block || "services" in block) return block;
  if (!("api" in block)) return undefined;
  return { [String(block["api"]).includes(":service:") ? "services" : "components"]: [block] };
}

/** What a model finds wrong with attributes; that it cannot be built here is nothing wrong. */
async function refusals(model: RegisteredModel, name: string, attributes: JsonObject) {
  const { api } = model;
  const log = memoryLogger();
  try {
    const built = await model.construct({
      ...{ name, attributes, fullName: `${api}/${name}`, dependencies: new Map() },
      spec: { ...{ name, api, attributes, dependsOn: [] }, model: model.model },
      log,
      signal: AbortSignal.abort(),
    });
    await built.close?.();
  } catch (error) {
    if (error instanceof AttributeError) return [error.message];
  }
  return log.messages("warn").filter((text) => text.startsWith("attribute"));
}

Deno.test("the JSON blocks of the pages on drivers, remotes, services and video are valid", async () => {
  const registry = builtinModels(testEnvironment());
  await registry.dump(); // loads the models that are loaded late
  let checked = 0;
  for (const page of PAGES) {
    const text = await Deno.readTextFile(new URL(page, DOCS));
    for (const [, json = ""] of text.matchAll(/^```json\n([^]*?)^```$/gm)) {
      const where = `docs/${page}: ${json}`;
      const written = configOf(JSON.parse(json));
      if (!written) continue;
      const { config, problems } = parseMachineConfig(written);
      assert.deepEqual(problems, [], where);
      for (const resource of [...config.components, ...config.services]) {
        const { name, api, model, attributes = {} } = resource;
        if (!model.startsWith("rdk:builtin:")) continue;
        const found = registry.find(api, model);
        assert.deepEqual(await refusals(found, name, attributes as JsonObject), [], where);
        checked++;
      }
    }
  }
  assert.ok(checked >= 30, `${checked} resources`);
});
