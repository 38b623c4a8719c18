/** Readings out of any text by a regular expression. Pure. */
import type { JsonValue } from "@bufbuild/protobuf";
import { RE2JS } from "re2js";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { AttributeError } from "../../resources/graph/attributes.ts";
import type { Readings } from "../../resources/graph/resource.ts";
import { beginning, ReadingsError } from "../readings/json_readings.ts";

const ALLOWED =
  "a regular expression (RE2) with named groups, for example temp=(?P<celsius>[0-9.]+)";
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/**
 * Reads the first place that matches. Its time is linear in the text, whatever pattern and text
 * are (RE2), so a program that prints what it likes cannot hold up the server.
 *
 * @throws {AttributeError} when the pattern does not compile or has no named group.
 */
export function patternReader(pattern: string, what: string): (text: string) => Readings {
  const compiled = compile(pattern);
  const names = Object.keys(compiled.namedGroups());
  if (names.length === 0) {
    throw new AttributeError("attributes.pattern", JSON.stringify(pattern), ALLOWED);
  }
  return (text) => {
    const match = compiled.matcher(text);
    if (!match.find()) {
      throw new ReadingsError(`${what} does not match the pattern: ${beginning(text)}`);
    }
    const readings: Record<string, JsonValue> = {};
    for (const name of names) {
      const found = match.group(name);
      if (found !== null) readings[name] = numberOrText(found);
    }
    return readings;
  };
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    const found = `${JSON.stringify(pattern)} (${toError(error).message})`;
    throw new AttributeError("attributes.pattern", found, ALLOWED);
  }
}

function numberOrText(text: string): JsonValue {
  const trimmed = text.trim();
  const value = NUMBER.test(trimmed) ? Number(trimmed) : NaN;
  return Number.isFinite(value) ? value : text;
}
