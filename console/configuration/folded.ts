import type { JsonObject } from "./json.ts";
import type { JsonSchema } from "./schema.ts";

/** As many fields of a form always stand there; a schema names the usual ones first. */
const FIRST = 6;
/** Fewer are not worth a fold. */
const LEAST_FOLDED = 3;

/** The names of the fields that a form folds: neither among the first, nor required, nor set. */
export function foldedNames(schema: JsonSchema, value: JsonObject): ReadonlySet<string> {
  const folded = Object.keys(schema.properties ?? {}).filter((name, at) =>
    at >= FIRST && !schema.required?.includes(name) && value[name] === undefined
  );
  return new Set(folded.length < LEAST_FOLDED ? [] : folded);
}
