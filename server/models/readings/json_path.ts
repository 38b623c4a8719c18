/** Paths into JSON values: `main.temps[0].celsius`, `["a key"].x`. Pure. */
import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { type Check, converted, optional, text } from "../../resources/graph/attributes.ts";

/** Keys of objects and indexes of arrays, from outside in. */
export type PathSteps = readonly (string | number)[];

/** A path as it was written, and what it means. */
export interface JsonPath {
  readonly text: string;
  readonly steps: PathSteps;
}

const STEP = /(?:^|\.)([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** Undefined when the text is no path. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const steps: (string | number)[] = [];
  for (let position = 0; position < text.length; position = STEP.lastIndex) {
    STEP.lastIndex = position;
    const match = STEP.exec(text);
    if (!match) return undefined;
    const [, key, index, quoted] = match;
    try {
      steps.push(key ?? (quoted === undefined ? Number(index) : JSON.parse(quoted)));
    } catch {
      return undefined; // an escape that JSON does not know
    }
  }
  return steps.length > 0 ? { text, steps } : undefined;
}

/** What lies at the path; undefined when nothing does. */
export function pickJson(value: JsonValue, steps: PathSteps): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const step of steps) {
    if (typeof step === "number") current = Array.isArray(current) ? current[step] : undefined;
    else {current = isJsonObject(current) && Object.hasOwn(current, step)
        ? current[step]
        : undefined;}
  }
  return current;
}

/** An optional attribute that holds a path. */
export function optionalPath(description: string): Check<JsonPath | undefined> {
  const allowed = 'a path into JSON, for example main.temps[0] or ["a key"].x';
  return optional(converted(text(description), allowed, parseJsonPath));
}
