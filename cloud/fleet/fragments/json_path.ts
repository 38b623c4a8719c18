import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";

/** The entry of a list that a step of a path means: by name or id, or by its place. */
export function indexOf(list: readonly JsonValue[], step: string): number {
  const named = list.findIndex((item) =>
    isJsonObject(item) && (item["name"] === step || item["id"] === step)
  );
  if (named >= 0) return named;
  const index = /^\d{1,9}$/.test(step) ? Number(step) : -1;
  return index < list.length ? index : -1;
}

/** A copy with another value at a path; objects on the way are made. Undefined: a list has no such entry. */
export function withValue(
  holder: JsonValue | undefined,
  path: readonly string[],
  value: JsonValue,
): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(holder)) {
    const index = indexOf(holder, step);
    const changed = index < 0 ? undefined : withValue(holder[index], rest, value);
    return changed === undefined ? undefined : holder.with(index, changed);
  }
  const before = isJsonObject(holder) ? holder : {};
  const own = Object.hasOwn(before, step) ? before[step] : undefined;
  const changed = withValue(own, rest, value);
  return changed === undefined ? undefined : setKey(before, step, changed);
}

/** A copy without what is at a path; the same value when nothing is there. */
export function withoutValue(holder: JsonValue, path: readonly string[]): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return holder;
  if (Array.isArray(holder)) {
    const index = indexOf(holder, step);
    const item = index < 0 ? undefined : holder[index];
    if (item === undefined) return holder;
    return rest.length === 0
      ? holder.toSpliced(index, 1)
      : holder.with(index, withoutValue(item, rest));
  }
  if (!isJsonObject(holder) || !Object.hasOwn(holder, step)) return holder;
  if (rest.length > 0) return setKey(holder, step, withoutValue(holder[step] ?? null, rest));
  return Object.fromEntries(Object.entries(holder).filter(([key]) => key !== step));
}

/** Also `__proto__` is a key like others. */
function setKey(holder: Record<string, JsonValue>, key: string, value: JsonValue) {
  const entries = Object.entries(holder);
  const at = entries.findIndex(([name]) => name === key);
  return Object.fromEntries(
    at < 0 ? [...entries, [key, value]] : entries.with(at, [key, value]),
  ) as Record<string, JsonValue>;
}
