/** What holds for the attributes of every built-in model. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { AttributeError } from "../resources/graph/attributes.ts";
import type { RegisteredModel } from "../resources/graph/registry.ts";
import { builtinModels } from "./builtin.ts";
import { testEnvironment } from "./testing.ts";

/** JSON Schema, as far as models use it. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly description?: string;
}

/** A wrong value and where the error has to find it. */
interface Mistake {
  readonly value: JsonValue;
  readonly path: string;
}

const SAMPLES: readonly JsonValue[] = ["text", 1.5, true, {}, [], null];

/** Counts as left out where an attribute may be. */
const SAYS_NOTHING: readonly JsonValue[] = [null, ""];

/** All values that are wrong by the schema: of another type, out of bounds, and inside of lists. */
function mistakes(schema: Schema, path: string): Mistake[] {
  const here = [
    ...SAMPLES.filter((value) => !fitsType(value, schema.type)),
    ...(schema.enum ? ["neither of them"] : []),
    ...(schema.minLength ? [""] : []),
    ...(schema.minimum === undefined ? [] : [schema.minimum - 1]),
    ...(schema.maximum === undefined ? [] : [schema.maximum + 1]),
  ].map((value) => ({ value, path }));
  const inItems = schema.items
    ? mistakes(schema.items, `${path}[0]`).map((mistake) => ({
      ...mistake,
      value: [mistake.value],
    }))
    : [];
  const inProperties = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    mistakes(inner, `${path}.${name}`).filter((mistake) =>
      schema.required?.includes(name) || mistake.path !== `${path}.${name}` ||
      !SAYS_NOTHING.includes(mistake.value)
    ).map((mistake) => ({
      ...mistake,
      value: { ...required(schema), [name]: mistake.value },
    }))
  );
  const inEntries = typeof schema.additionalProperties === "object"
    ? mistakes(schema.additionalProperties, `${path}.k`).map((mistake) => ({
      ...mistake,
      value: { k: mistake.value },
    }))
    : [];
  return [...here, ...inItems, ...inProperties, ...inEntries];
}

function fitsType(value: JsonValue, type: string | undefined): boolean {
  if (type === undefined) return true;
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") {
    return typeof value === "object" && value !== null && !Array.isArray(value);
  }
  const found: string = typeof value;
  return found === type;
}

/** The attributes without which others would not be looked at. */
function required(schema: Schema): JsonObject {
  return Object.fromEntries(
    (schema.required ?? []).map((name) => [name, sample(name, schema.properties?.[name] ?? {})]),
  );
}

/** What fits attributes that take not just any text. */
const FITTING: Readonly<Record<string, string>> = {
  url: "http://127.0.0.1:9/",
  rtsp_address: "rtsp://127.0.0.1:9/",
  detect_color: "#ff0000",
  serial_path: "/dev/ttyUSB0",
};

/** A value that fits. */
function sample(name: string, schema: Schema): JsonValue {
  const { type, minimum = 1 } = schema;
  if (schema.enum) return schema.enum[0] ?? "";
  if (type === "object") return required(schema);
  if (type === "number" || type === "integer") return minimum;
  if (name === "url" && schema.description?.includes("mqtt")) return "mqtt://127.0.0.1:9";
  if (type !== "array") return FITTING[name] ?? "x";
  return schema.items?.type === "object" ? [required(schema.items)] : ["x"];
}

async function refusal(model: RegisteredModel, attributes: JsonObject): Promise<string> {
  const name = "r";
  const { api } = model;
  const log = memoryLogger();
  try {
    await model.construct({
      ...{ name, attributes, fullName: `${api}/${name}`, dependencies: new Map() },
      spec: { ...{ name, api, attributes, dependsOn: [] }, model: model.model },
      log,
      signal: AbortSignal.abort(),
    });
  } catch (error) {
    if (error instanceof AttributeError) return error.message;
    // What is taken otherwise than it is written is said in the same words.
    return log.messages("warn")[0] ?? `another error: ${error}`;
  }
  return "no error";
}

Deno.test("every model names path, found and allowed of every attribute that is wrong", async () => {
  const registry = builtinModels(testEnvironment());
  await registry.dump(); // loads the models that are loaded late
  let count = 0;
  for (const model of registry.list()) {
    const { type: _object, ...schema }: Schema = model.attributeSchema;
    for (
      const { value, path } of mistakes(schema, "attributes")
    ) {
      const text = await refusal(model, value as JsonObject);
      const where = `${model.api} ${model.model} with ${JSON.stringify(value)}: ${text}`;
      assert.ok(text.startsWith(`${path}: found `), where);
      assert.match(text, /: found .+, allowed: .+/, where);
      count++;
    }
    for (const name of schema.required ?? []) {
      const { [name]: _left, ...others } = required(schema);
      const text = await refusal(model, others);
      assert.match(text, new RegExp(`^attributes\\.${name}: found nothing, allowed: `), text);
    }
  }
  assert.ok(count > 300, `only ${count} mistakes were made`);
});

Deno.test("the shell service has both names, and builtin is what no model stands for", () => {
  const registry = builtinModels(testEnvironment());
  for (const model of ["rdk:builtin:builtin", "rdk:builtin:shell"]) {
    assert.equal(registry.find("rdk:service:shell", model).model, model);
  }
});

Deno.test("every model takes null and an empty text for an attribute that may be left out", async () => {
  const registry = builtinModels(testEnvironment());
  await registry.dump();
  let count = 0;
  for (const model of registry.list()) {
    const schema: Schema = model.attributeSchema;
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      if (schema.required?.includes(name)) continue;
      for (const value of SAYS_NOTHING) {
        const text = await refusal(model, { ...required(schema), [name]: value });
        assert.doesNotMatch(text, new RegExp(`^attributes\\.${name}: found`), `${text} ${inner}`);
        count++;
      }
    }
  }
  assert.ok(count > 60, `only ${count} were tried`);
});
