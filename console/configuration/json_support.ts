import { Validator } from "@cfworker/json-schema";
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { syntaxTree } from "@codemirror/language";
import { type Diagnostic, linter, lintGutter } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { type EditorView, hoverTooltip } from "@codemirror/view";
import { isObject, type JsonObject, type JsonValue } from "./json.ts";
import { configure as words } from "../texts/configure.ts";
import { say } from "../texts/say.svelte.ts";
import { findingText, jsonProblem } from "./json_findings.ts";
import { fromPointer, nameOf, pathOf, placeOf, wholeTree } from "./json_places.ts";
import { apiOfEntry, type JsonSchema, type KnownModel, modelOf, schemaAt } from "./schema.ts";
import { checkWithSchema, type SchemaFinding } from "./schema_checks.ts";

/** Completion, checks at the place and descriptions for a configuration. */
export function configSupport(schema: JsonSchema, models: readonly KnownModel[]): Extension {
  // Interprets the schema: a library that compiles it needs code from text, which the policy forbids.
  const validator = new Validator(schema as object, "2020-12", false);
  const syntax = jsonParseLinter();
  return [
    json(),
    lintGutter(),
    linter((view) => {
      const broken = syntax(view).map((each) => ({
        ...each,
        message: jsonProblem(new SyntaxError(each.message), say),
      }));
      return broken.length > 0 ? broken : problems(view, validator, models);
    }),
    autocompletion({ override: [(context) => complete(context, schema, models)] }),
    hoverTooltip((view, at) => describe(view, at, schema, models)),
  ];
}

function valueOf(view: EditorView): JsonValue | undefined {
  try {
    return JSON.parse(view.state.doc.toString());
  } catch {
    return undefined;
  }
}

async function problems(
  view: EditorView,
  validator: Validator,
  models: readonly KnownModel[],
): Promise<Diagnostic[]> {
  const value = valueOf(view);
  if (!isObject(value)) return [];
  const found = deepest(validator.validate(value).errors).map((each) => ({
    path: fromPointer(each.instanceLocation),
    message: findingText(each, say),
  }));
  for (const section of ["components", "services"] as const) {
    const list = value[section];
    if (!Array.isArray(list)) continue;
    for (const [index, entry] of list.entries()) {
      if (isObject(entry)) found.push(...await attributeProblems(entry, [section, index], models));
    }
  }
  if (found.length === 0) return [];
  const { state } = view;
  const tree = wholeTree(state);
  return found.filter(({ path }) => !isVariable(value, path)).map(({ path, message }) => ({
    ...placeOf(state, tree, path),
    severity: "warning",
    message: `${path.join(".")}: ${message}`,
  }));
}

/** Whether a value is a variable of a fragment, or stands in one: what it will be is not known. */
function isVariable(root: JsonValue, path: readonly (string | number)[]): boolean {
  let value: JsonValue | undefined = root;
  for (const step of [undefined, ...path]) {
    if (step !== undefined) {
      value = Array.isArray(value)
        ? value[Number(step)]
        : isObject(value)
        ? value[String(step)]
        : undefined;
    }
    if (isObject(value) && "$variable" in value) return true;
  }
  return false;
}

/** What is wrong with the attributes of a resource, as far as its model is known. */
async function attributeProblems(
  entry: JsonObject,
  path: readonly (string | number)[],
  models: readonly KnownModel[],
): Promise<{ path: (string | number)[]; message: string }[]> {
  const known = modelOf(entry, models);
  const schema = known?.checked ?? known?.attributes;
  if (!schema) return [];
  const found = await checkWithSchema({ schema, value: entry.attributes ?? {} });
  if (!found) return [{ path: [...path, "attributes"], message: say(words.schemaTooSlow) }];
  return deepest(found).map((each) => ({
    path: [...path, "attributes", ...fromPointer(each.instanceLocation)],
    message: findingText(each, say),
  }));
}

/** Errors that are about a value itself, not those of the objects around it. */
function deepest(errors: readonly SchemaFinding[]): SchemaFinding[] {
  return errors.filter(({ instanceLocation, keyword }) =>
    !["properties", "items", "additionalProperties"].includes(keyword) &&
    !errors.some((other) => other.instanceLocation.startsWith(`${instanceLocation}/`))
  );
}

function complete(
  context: CompletionContext,
  schema: JsonSchema,
  models: readonly KnownModel[],
): CompletionResult | null {
  const node = syntaxTree(context.state).resolveInner(context.pos, -1);
  const isInText = node.name === "String" || node.name === "PropertyName";
  if (!isInText && !context.explicit) return null;
  const value = lenient(context.state.doc.toString());
  const isName = node.name === "PropertyName" ||
    (node.name === "⚠" && node.parent?.name === "Object") || node.name === "Object" ||
    node.name === "{";
  const from = isInText ? node.from : context.pos;
  const to = isInText ? node.to : context.pos;
  const options = isName
    ? names(context, node, schema, models, value)
    : values(pathOf(context.state, node), schema, models, value);
  if (options.length === 0) return null;
  return { from, to, options, filter: true, validFor: /^"?[\w:.-]*"?$/ };
}

function names(
  context: CompletionContext,
  node: ReturnType<ReturnType<typeof syntaxTree>["resolveInner"]>,
  schema: JsonSchema,
  models: readonly KnownModel[],
  value: JsonValue | undefined,
): Completion[] {
  let object: typeof node | null = node;
  while (object && object.name !== "Object") object = object.parent;
  if (!object) return [];
  const of = schemaAt(schema, pathOf(context.state, object), value, models);
  const there = new Set(
    object.getChildren("Property").filter((each) => each.from !== node.parent?.from)
      .map((each) => nameOf(context.state, each)),
  );
  const hasColon = /^\s*:/.test(context.state.sliceDoc(node.to, node.to + 5));
  return Object.entries(of?.properties ?? {}).filter(([name]) => !there.has(name))
    .map(([name, property]) => ({
      label: `"${name}"`,
      apply: `"${name}"${hasColon ? "" : ": "}`,
      type: "property",
      info: property.description ?? "",
    }));
}

function values(
  path: readonly (string | number)[],
  schema: JsonSchema,
  models: readonly KnownModel[],
  value: JsonValue | undefined,
): Completion[] {
  const option = (choice: JsonValue, info = ""): Completion => ({
    label: JSON.stringify(choice),
    type: "enum",
    info,
  });
  const [section, index, key] = path;
  if ((section === "components" || section === "services") && path.length === 3) {
    const list = isObject(value) ? value[section] : undefined;
    const entry = Array.isArray(list) && typeof index === "number" ? list[index] : undefined;
    const kind = section === "components" ? "component" : "service";
    const fitting = models.filter(({ api }) => api.split(":")[1] === kind);
    if (key === "api") return [...new Set(fitting.map(({ api }) => api))].map((api) => option(api));
    if (key === "model") {
      const api = isObject(entry) ? apiOfEntry(entry, section) : "";
      return fitting.filter((known) => api === "" || known.api === api)
        .map((known) => option(known.model, known.api));
    }
  }
  const of = schemaAt(schema, path, value, models);
  if (of?.type === "boolean") return [option(true), option(false)];
  return [of, ...of?.anyOf ?? []].flatMap((each) => each?.enum ?? []).map((each) => option(each));
}

/** The value of a text in which somebody types; undefined where that cannot be determined. */
function lenient(text: string): JsonValue | undefined {
  for (const attempt of [text, text.replaceAll(/,(\s*[}\]])/g, "$1")]) {
    try {
      return JSON.parse(attempt);
    } catch {
      // The next attempt.
    }
  }
  return undefined;
}

function describe(
  view: EditorView,
  at: number,
  schema: JsonSchema,
  models: readonly KnownModel[],
) {
  const node = syntaxTree(view.state).resolveInner(at, 1);
  if (node.name !== "PropertyName") return null;
  const of = schemaAt(schema, pathOf(view.state, node), valueOf(view), models);
  const text = of?.description;
  if (!text) return null;
  return {
    pos: node.from,
    end: node.to,
    create: () => {
      const dom = document.createElement("div");
      dom.textContent = text;
      dom.className = "cm-description";
      return { dom };
    },
  };
}
