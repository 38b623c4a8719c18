/** The form of JSON values against a zod schema, with problems in our own words. */
import { isJsonObject } from "../base/json/json.ts";
import { type ConfigProblem, type Path, problemAt, type Report } from "./problem.ts";
import * as z from "zod";
import { isListOrOne } from "./schema_kit.ts";
import { unknownKey } from "./unknown_key.ts";

const KIND_WORDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "number",
  int: "whole number",
  boolean: "true or false",
  array: "list",
  object: "object",
  record: "object",
};

/**
 * Reads a value that stands at `path`. `null` and an empty text for an optional key count as absent,
 * as in the configurations other programs of the family write.
 *
 * @returns the value, unknown keys included, or undefined after problems were reported
 */
export function readShape<S extends z.ZodType>(
  schema: S,
  value: unknown,
  path: Path,
  report: Report,
): z.infer<S> | undefined {
  const written = tidied(schema, value);
  const result = schema.safeParse(written);
  if (result.success) return result.data;
  for (const problem of problemsOf(result.error.issues, written, path)) report(problem);
  return undefined;
}

/** Unknown keys of one entry that are compared with those it may have; more are no slips. */
export const MOST_HINTS = 20;

/** Warns about every key the schema does not know. Free-form objects are not looked into. */
export function warnUnknownKeys(
  schema: z.ZodType,
  value: unknown,
  path: Path,
  warn: Report,
): void {
  let hints = MOST_HINTS;
  visit(schema, value, path, (shape, object, at) => {
    for (const [key, item] of Object.entries(object)) {
      if (Object.hasOwn(shape, key)) continue;
      warn(unknownKey([...at, key], item, hints-- > 0 ? Object.keys(shape) : []));
    }
  });
}

type Visitor = (
  shape: Readonly<Record<string, unknown>>,
  object: Record<string, unknown>,
  path: Path,
) => void;

/** Calls `enter` for every object that stands where the schema has one with known keys. */
function visit(schema: z.ZodType, value: unknown, path: Path, enter: Visitor): void {
  const inner = unwrap(schema, value);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    const element = inner.element as z.ZodType;
    if (!hasForm(element)) return;
    value.forEach((item, at) => visit(element, item, [...path, at], enter));
  } else if (isJsonObject(value) && inner instanceof z.ZodObject) {
    const shape: Record<string, z.ZodType> = inner.shape;
    enter(shape, value, path);
    for (const [key, item] of Object.entries(value)) {
      const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
      if (field && hasForm(field)) visit(field, item, [...path, key], enter);
    }
  } else if (isJsonObject(value) && inner instanceof z.ZodRecord) {
    const field = inner.valueType as z.ZodType;
    if (!hasForm(field)) return;
    for (const [key, item] of Object.entries(value)) visit(field, item, [...path, key], enter);
  }
}

/** Whether values of a schema may hold objects with known keys, so that they are looked into. */
function hasForm(schema: z.ZodType): boolean {
  const inner = unwrap(schema, {});
  return inner instanceof z.ZodObject || inner instanceof z.ZodArray ||
    inner instanceof z.ZodRecord;
}

/**
 * The value without optional keys that say nothing, and with lists where one entry stands alone.
 * Free-form values are the same in it.
 */
function tidied(schema: z.ZodType, value: unknown): unknown {
  const inner = unwrap(schema, value);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    const element = inner.element as z.ZodType;
    return hasForm(element) ? value.map((item) => tidied(element, item)) : value;
  }
  if (!isJsonObject(value)) return value;
  if (inner instanceof z.ZodRecord) {
    const field = inner.valueType as z.ZodType;
    if (!hasForm(field)) return value;
    const entries = Object.entries(value).map(([key, item]) => [key, tidied(field, item)]);
    return Object.fromEntries(entries);
  }
  if (!(inner instanceof z.ZodObject)) return value;
  const shape: Record<string, z.ZodType> = inner.shape;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
      const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
      if (!field) return [[key, item]];
      const saysNothing = item === null || item === "";
      if (saysNothing && field instanceof z.ZodOptional) return [];
      const isAlone = isJsonObject(item) && isListOrOne(field);
      return [[key, tidied(field, isAlone ? [item] : item)]];
    }),
  );
}

/** The schema below optional, nullable and default; of a union the part that fits an object. */
function unwrap(schema: z.ZodType, value: unknown): z.ZodType {
  let inner = schema;
  while (
    inner instanceof z.ZodOptional || inner instanceof z.ZodNullable ||
    inner instanceof z.ZodDefault
  ) {
    inner = inner.unwrap() as z.ZodType;
  }
  if (inner instanceof z.ZodUnion && isJsonObject(value)) {
    const options = inner.options as readonly z.ZodType[];
    return options.find((option) => option instanceof z.ZodObject) ?? inner;
  }
  return inner;
}

function problemsOf(
  issues: readonly z.core.$ZodIssue[],
  root: unknown,
  path: Path,
): ConfigProblem[] {
  return issues.map((issue) => {
    const steps = issue.path.map((step) => typeof step === "number" ? step : String(step));
    const value = valueAt(root, steps);
    const at = [...path, ...steps];
    if (value === undefined || value === null) {
      return problemAt(at, undefined, `${String(at.at(-1))} is missing`, allowedBy(issue));
    }
    return problemAt(at, value, messageOf(issue), allowedBy(issue));
  });
}

function messageOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_value":
      return "this is not one of the choices";
    case "too_small":
    case "too_big":
      return "this is out of range";
    default:
      return "this is the wrong kind of value";
  }
}

function allowedBy(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return KIND_WORDS[issue.expected] ?? issue.expected;
    case "invalid_value":
      return issue.values.map((value) => value === "" ? "empty" : String(value)).join(", ");
    case "too_small":
      return `${issue.minimum} or more`;
    case "too_big":
      return `${issue.maximum} or less`;
    case "invalid_union":
      return [...new Set(issue.errors.flat().map(allowedBy))].join(" or ");
    default:
      return "";
  }
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
