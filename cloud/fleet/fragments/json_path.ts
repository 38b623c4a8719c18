import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../shared/base/json/json.ts";

/** Notified of what is about to be done, in steps of a fifth of a microsecond; throws when it is too much. */
export type Work = (steps: number) => void;

const ANY_WORK: Work = () => {};
/** Entries that are looked at in one step. */
const LOOKED_AT = 10;
/** Steps that copying a key of an object takes. */
export const STEPS_A_KEY = 3;

/** The entry of a list that a step of a path means: by name or id, or by its place. */
function indexOf(list: readonly JsonValue[], step: string, work = ANY_WORK): number {
  return indexAmong(list, (item) => item, step, work);
}

/** {@link indexOf} of what is in the entries. */
export function indexAmong<T>(
  list: readonly T[],
  valueOf: (entry: T) => JsonValue,
  step: string,
  work: Work,
): number {
  work(1 + list.length / LOOKED_AT);
  const named = list.findIndex((entry) => {
    const item = valueOf(entry);
    return isJsonObject(item) && (item["name"] === step || item["id"] === step);
  });
  if (named >= 0) return named;
  const index = /^\d{1,9}$/.test(step) ? Number(step) : -1;
  return index < list.length ? index : -1;
}

/** A copy with another value at a path; objects on the way are made. Undefined: a list has no such entry. */
export function withValue(
  holder: JsonValue | undefined,
  path: readonly string[],
  value: JsonValue,
  work = ANY_WORK,
): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(holder)) {
    const index = indexOf(holder, step, work);
    const changed = index < 0 ? undefined : withValue(holder[index], rest, value, work);
    return changed === undefined ? undefined : holder.with(index, changed);
  }
  const before = isJsonObject(holder) ? holder : {};
  const own = Object.hasOwn(before, step) ? before[step] : undefined;
  const changed = withValue(own, rest, value, work);
  return changed === undefined ? undefined : setKey(before, step, changed, work);
}

/** A copy without what is at a path; the same value when nothing is there. */
export function withoutValue(
  holder: JsonValue,
  path: readonly string[],
  work = ANY_WORK,
): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return holder;
  if (Array.isArray(holder)) {
    const index = indexOf(holder, step, work);
    const item = index < 0 ? undefined : holder[index];
    if (item === undefined) return holder;
    return rest.length === 0
      ? holder.toSpliced(index, 1)
      : holder.with(index, withoutValue(item, rest, work));
  }
  if (!isJsonObject(holder) || !Object.hasOwn(holder, step)) return holder;
  if (rest.length > 0) {
    return setKey(holder, step, withoutValue(holder[step] ?? null, rest, work), work);
  }
  work(STEPS_A_KEY * Object.keys(holder).length);
  return Object.fromEntries(Object.entries(holder).filter(([key]) => key !== step));
}

/** Also `__proto__` is a key like others. */
function setKey(
  holder: Record<string, JsonValue>,
  key: string,
  value: JsonValue,
  work: Work,
) {
  const entries = Object.entries(holder);
  work(STEPS_A_KEY * entries.length);
  const at = entries.findIndex(([name]) => name === key);
  return Object.fromEntries(
    at < 0 ? [...entries, [key, value]] : entries.with(at, [key, value]),
  ) as Record<string, JsonValue>;
}
