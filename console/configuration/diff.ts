import { isObject, isSame, type JsonObject, type JsonValue } from "./json.ts";

/** A change between two configurations, as a person would describe it. */
export interface Change {
  /** `components.greenhouse`, or a section such as `network`. */
  readonly entry: string;
  readonly kind: "added" | "changed" | "removed";
  /** What changed inside; empty for an entry that was added or removed. */
  readonly values: readonly ValueChange[];
}

/** A value inside an entry. Undefined: it is not there. */
export interface ValueChange {
  /** `attributes.interval`. */
  readonly path: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** The key that distinguishes entries of a list, by section. */
const KEYS: Readonly<Record<string, string>> = { processes: "id", fragments: "id" };

/** What changed, by entry, in the order of the newer configuration; removed ones come last. */
export function difference(before: JsonObject, after: JsonObject): Change[] {
  const sections = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  return sections.flatMap((section) => {
    const [old, now] = [entriesOf(before, section), entriesOf(after, section)];
    if (!old || !now) {
      const values = valueChanges(before[section], after[section]);
      if (values.length === 0) return [];
      const kind = before[section] === undefined
        ? "added"
        : after[section] === undefined
        ? "removed"
        : "changed";
      return [{ entry: section, kind, values }];
    }
    return listChanges(section, old, now);
  });
}

function listChanges(
  section: string,
  old: ReadonlyMap<string, JsonValue>,
  now: ReadonlyMap<string, JsonValue>,
): Change[] {
  const changes: Change[] = [];
  for (const [name, value] of now) {
    const entry = `${section}.${name}`;
    if (!old.has(name)) changes.push({ entry, kind: "added", values: [] });
    else {
      const values = valueChanges(old.get(name), value);
      if (values.length > 0) changes.push({ entry, kind: "changed", values });
    }
  }
  for (const name of old.keys()) {
    if (!now.has(name)) changes.push({ entry: `${section}.${name}`, kind: "removed", values: [] });
  }
  const orders = [old, now].map((entries) => [...entries.keys()].join("\n"));
  if (changes.length === 0 && orders[0] !== orders[1]) {
    const [before, after] = [[...old.keys()], [...now.keys()]];
    return [{ entry: section, kind: "changed", values: [{ path: "", before, after }] }];
  }
  return changes;
}

/** The entries of a section by their names; undefined where it is no list of named entries. */
export function entriesOf(
  config: JsonObject,
  section: string,
): Map<string, JsonValue> | undefined {
  const list = config[section] ?? [];
  if (!Array.isArray(list)) return undefined;
  const entries = new Map<string, JsonValue>();
  for (const item of list) {
    const name = nameOf(item, section);
    if (name === undefined || entries.has(name)) return undefined;
    entries.set(name, item);
  }
  return entries;
}

function nameOf(item: JsonValue, section: string): string | undefined {
  if (typeof item === "string") return item;
  if (!isObject(item)) return undefined;
  const name = item[KEYS[section] ?? "name"];
  if (typeof name === "string" && name !== "") return name;
  // Services may have no name; their API distinguishes them.
  const { api, type } = item;
  return typeof api === "string" ? api : typeof type === "string" ? type : undefined;
}

/** Every value that differs, objects looked into. */
export function valueChanges(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path = "",
): ValueChange[] {
  if (isSame(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const names = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  return names.flatMap((name) =>
    valueChanges(before[name], after[name], path === "" ? name : `${path}.${name}`)
  );
}
