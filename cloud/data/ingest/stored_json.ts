import type { JsonObject } from "@bufbuild/protobuf";

/** An object out of a text that the cloud wrote itself. */
export function parseObject(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

/** A list of texts out of a text that the cloud wrote itself. */
export function parseTexts(text: string): string[] {
  return JSON.parse(text) as string[];
}
