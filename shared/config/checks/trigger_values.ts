/** A value in a condition and the keys that lead to it; none for a plain value. */
export interface ConditionLeaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** The values at the ends of a condition's paths; lists and null are ends. */
export function conditionLeaves(value: unknown, path: readonly string[] = []): ConditionLeaf[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [{ path, value }];
  return Object.entries(value).flatMap(([key, item]) => conditionLeaves(item, [...path, key]));
}
