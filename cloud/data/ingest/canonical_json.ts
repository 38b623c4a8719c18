import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/**
 * JSON with the keys of every object in order: the same value always gives the same text. A
 * machine that sends a reading again may send its fields in another order. What JSON has no word
 * for, as NaN, becomes null.
 */
export function canonicalJson(value: JsonValue): string {
  return JSON.stringify(ordered(value));
}

function ordered(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const keys = Object.keys(value);
  if (isOrdered(keys) && keys.every((key) => typeof value[key] !== "object")) return value;
  // Object.fromEntries, because a key may be called __proto__.
  return Object.fromEntries(keys.sort().map((key) => [key, ordered(value[key] ?? null)]));
}

function isOrdered(keys: readonly string[]): boolean {
  return keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") < key);
}

/** An object out of a text that the cloud wrote itself. */
export function parseObject(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

/** A list of texts out of a text that the cloud wrote itself. */
export function parseTexts(text: string): string[] {
  return JSON.parse(text) as string[];
}
