import type { Document } from "bson";
import { JSON_COLUMNS, TIME_COLUMNS } from "./readings_view.ts";

/** A query that is wrong, with what to report to its author. */
export class QueryRefusedError extends Error {
  override readonly name = "QueryRefusedError";
}

/** Times and JSON of the view's columns become what they are; all else is left as SQL gives it. */
export function toDocument(row: Record<string, unknown>): Document {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, toValue(name, value)]),
  );
}

function toValue(name: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (TIME_COLUMNS.has(name)) return TIME.test(value) ? new Date(value) : value;
  if (!JSON_COLUMNS.has(name) || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value; // The query made it up.
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
