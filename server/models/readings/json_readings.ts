/** Readings out of a JSON text. Pure. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import type { Readings } from "../../resources/graph/resource.ts";
import { type JsonPath, pickJson } from "./json_path.ts";

/** A text that gives no readings; the message says why, and shows the beginning of the text. */
export class ReadingsError extends Error {
  override readonly name = "ReadingsError";
}

/**
 * The object that the text is, or that the path leads to. Where the path leads to anything else,
 * that becomes the one reading, named after the path's last part.
 *
 * @param what whose text it is, for errors: "the output of /usr/bin/x".
 * @throws {ReadingsError}
 */
export function jsonReadings(text: string, path: JsonPath | undefined, what: string): Readings {
  const value = pickJson(parse(text, what), path?.steps ?? []);
  if (value === undefined) {
    throw new ReadingsError(`${what} has nothing at ${path?.text}: ${beginning(text)}`);
  }
  if (isJsonObject(value)) return value as JsonObject;
  if (!path) throw new ReadingsError(`${what} is no JSON object: ${beginning(text)}`);
  const last = path.steps.filter((step) => typeof step === "string").at(-1) ?? "value";
  return { [last]: value };
}

/** The first characters of a text, quoted, for messages. */
export function beginning(text: string): string {
  if (text.trim() === "") return "it is empty";
  const shown = JSON.stringify(text.slice(0, 120));
  return text.length > 120 ? `it begins with ${shown}` : `it is ${shown}`;
}

function parse(text: string, what: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ReadingsError(`${what} is no JSON: ${beginning(text)}`, { cause: error });
  }
}
