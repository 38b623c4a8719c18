/** True when two JSON values are the same, whatever the order of keys; undefined equals absent. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (Object.is(left, right) || left === right) return true;
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (left === null || right === null || Array.isArray(left) !== Array.isArray(right)) return false;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => sameJson(item, right[at]));
  }
  const other = new Map(Object.entries(right).filter(([, value]) => value !== undefined));
  const own = Object.entries(left).filter(([, value]) => value !== undefined);
  return own.length === other.size &&
    own.every(([key, value]) => other.has(key) && sameJson(value, other.get(key)));
}
