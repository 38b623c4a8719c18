import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { countValues, isJsonObject, sameJson } from "../../../shared/base/json/json.ts";

/** A machine configuration as somebody sent it. */
export interface ConfigDocument {
  /** JSON text; what is kept and given back. */
  readonly text: string;
  readonly value: JsonObject;
}

/** What a save added, changed and removed: `components.host`, `agent`. Never a value. */
export interface ConfigDiffSummary {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export const EMPTY_CONFIG: ConfigDocument = { text: "{}", value: {} };

/** Longest configuration, in characters of its JSON text; twice that with all that it includes. */
const LONGEST_CONFIG = 4 * 1024 * 1024;
/** Most JSON values of a configuration; reading and checking each takes microseconds. */
export const MOST_CONFIG_VALUES = 65_536;

/**
 * What of a configuration is too large, as the end of a sentence; undefined: nothing is.
 *
 * @param what `own`, or `resolved` with everything that it includes.
 */
export function sizeProblem(
  { text, value }: ConfigDocument,
  what: "own" | "resolved" = "own",
): string | undefined {
  const times = what === "own" ? 1 : 2;
  if (text.length > times * LONGEST_CONFIG) {
    return `has ${text.length} characters; ${times * LONGEST_CONFIG} are allowed`;
  }
  const most = times * MOST_CONFIG_VALUES;
  // Each value takes a character at least: those of a short text need not be counted.
  if (text.length <= most) return undefined;
  return countValues(value, most) > most
    ? `has more than ${most} values; no more are allowed`
    : undefined;
}

export function documentOf(value: JsonObject): ConfigDocument {
  return { text: JSON.stringify(value), value };
}

export function parseDocument(text: string): ConfigDocument {
  return { text, value: JSON.parse(text) as JsonObject };
}

/** Whether two values say the same with their keys in the same order. */
export function sameJsonInOrder(a: JsonValue, b: JsonValue): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * What is sent to a machine to distinguish revisions: the number and the start of the content's
 * hash.
 */
export function revisionName(number: number, text: string): string {
  const hash = createHash("sha256").update(text).digest("hex");
  return `${number}-${hash.slice(0, 8)}`;
}

/** Compares two configurations entry by entry; entries of lists are distinguished by name or id. */
export function summarizeDiff(before: JsonObject, after: JsonObject): ConfigDiffSummary {
  const old = entries(before);
  const now = entries(after);
  const added = [...now.keys()].filter((key) => !old.has(key));
  const removed = [...old.keys()].filter((key) => !now.has(key));
  const changed = [...now.keys()].filter((key) =>
    old.has(key) && !sameJson(old.get(key), now.get(key))
  );
  return { added, changed, removed };
}

function entries(config: JsonObject): Map<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  for (const [section, value] of Object.entries(config)) {
    if (!Array.isArray(value)) found.set(section, value);
    else value.forEach((item, i) => found.set(`${section}.${nameOf(item) ?? i}`, item));
  }
  return found;
}

function nameOf(item: JsonValue): string | undefined {
  if (!isJsonObject(item)) return undefined;
  const name = item["name"] ?? item["id"];
  return typeof name === "string" ? name : undefined;
}
