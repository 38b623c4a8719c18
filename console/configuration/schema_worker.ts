/** Checks values with schemas of modules, apart from the page: {@link checkWithSchema} ends it. */
import { Validator } from "@cfworker/json-schema";
import type { SchemaCheck, SchemaFinding } from "./schema_checks.ts";

addEventListener("message", ({ data }: MessageEvent<string>) => {
  postMessage(findings(JSON.parse(data) as SchemaCheck));
});

/** A schema that no validator can follow, for example one that refers to itself only, says nothing. */
function findings({ schema, value }: SchemaCheck): SchemaFinding[] {
  try {
    return new Validator(schema as object, "2020-12", false).validate(value).errors
      .map(({ instanceLocation, keyword, error }) => ({ instanceLocation, keyword, error }));
  } catch {
    return [];
  }
}
