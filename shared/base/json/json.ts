import type { JsonObject } from "@bufbuild/protobuf";

/** True for objects that are no array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * How many values a JSON value consists of: itself, and all in its lists and objects.
 *
 * @param most counting ends when there are more.
 */
export function countValues(value: unknown, most = Infinity): number {
  // Without recursion: a text may have a million levels.
  const left: object[] = [];
  let count = 1;
  if (typeof value === "object" && value !== null) left.push(value);
  for (let next; count <= most && (next = left.pop());) {
    for (const inner of Array.isArray(next) ? next : Object.values(next)) {
      count++;
      if (typeof inner === "object" && inner !== null) left.push(inner);
    }
  }
  return count;
}

/** True when two JSON values are the same, whatever the order of keys; undefined equals absent. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (Object.is(left, right) || left === right) return true;
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (left === null || right === null || Array.isArray(left) !== Array.isArray(right)) return false;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => sameJson(item, right[at]));
  }
  const [own, other] = [left as Fields, right as Fields];
  let more = 0;
  for (const key of Object.keys(other)) if (other[key] !== undefined) more++;
  for (const key of Object.keys(own)) {
    const value = own[key];
    if (value === undefined) continue;
    if (!Object.hasOwn(other, key) || !sameJson(value, other[key])) return false;
    more--;
  }
  return more === 0;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * JSON with the keys of every object in order: the same value always gives the same text. What JSON
 * has no word for, as NaN, becomes null; what is undefined is left out of an object.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(ordered(value));
}

function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const entries = Object.entries(value);
  if (isOrdered(entries) && entries.every(([, inner]) => typeof inner !== "object")) return value;
  // Object.fromEntries, because a key may be called __proto__.
  return Object.fromEntries(
    entries.sort(([a], [b]) => a < b ? -1 : 1).map(([key, inner]) => [key, ordered(inner)]),
  );
}

function isOrdered(entries: readonly [string, unknown][]): boolean {
  return entries.every(([key], at) => at === 0 || (entries[at - 1]?.[0] ?? "") < key);
}
