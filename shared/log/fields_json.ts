import type { Fields } from "./logger.ts";

/** What JSON can hold. */
export type PlainValue =
  | null
  | boolean
  | number
  | string
  | PlainValue[]
  | { [key: string]: PlainValue };

// A log line is for reading: deeper, longer or wider values are cut.
const DEEPEST = 8;
const MOST_ITEMS = 200;

/** Compact JSON of a line's fields. Never throws, whatever the values are. */
export function fieldsToJson(fields: Fields): string {
  return JSON.stringify(toPlain(fields));
}

/** An error's message with those of its causes: `cannot connect (cause: timed out)`. */
export function errorText(error: Error): string {
  const seen = new Set<unknown>();
  const messages: string[] = [];
  for (let link: unknown = error; link !== undefined && !seen.has(link);) {
    seen.add(link);
    const message = link instanceof Error ? link.message || link.name : safeString(link);
    // Wrappers often repeat the message of what they wrap.
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message);
    link = link instanceof Error ? link.cause : undefined;
  }
  return messages.join(" (cause: ") + ")".repeat(messages.length - 1);
}

/**
 * Any value as plain data: errors as their text, big integers and functions as text, dates and
 * everything with `toJSON` (secrets too) as that says, bytes as their number.
 */
export function toPlain(value: unknown): PlainValue {
  try {
    return convert(value, [], "");
  } catch {
    return "[unprintable]";
  }
}

function convert(value: unknown, above: readonly object[], key: string): PlainValue {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : value.toWellFormed();
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "object":
      return value === null ? null : convertObject(value, above, key);
    case "undefined":
      return null;
    default:
      return safeString(value);
  }
}

function convertObject(value: object, above: readonly object[], key: string): PlainValue {
  if (value instanceof Error) return errorText(value);
  if (above.includes(value)) return "[circular]";
  if (above.length >= DEEPEST) return "[deep]";
  const path = [...above, value];
  if (hasToJson(value)) {
    const json = value.toJSON(key);
    return json === value ? safeString(value) : convert(json, path, key);
  }
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value) || value instanceof Set) return convertList([...value], path);
  const entries = value instanceof Map
    ? [...value].map(([name, item]): [string, unknown] => [safeString(name), item])
    : Object.entries(value);
  return convertEntries(entries, path);
}

function convertList(items: readonly unknown[], path: readonly object[]): PlainValue[] {
  const kept = items.slice(0, MOST_ITEMS).map((item, index) => convert(item, path, String(index)));
  return items.length > MOST_ITEMS ? [...kept, `[${items.length - MOST_ITEMS} more]`] : kept;
}

function convertEntries(entries: [string, unknown][], path: readonly object[]): PlainValue {
  const kept: [string, PlainValue][] = [];
  for (const [name, item] of entries.slice(0, MOST_ITEMS)) {
    if (item !== undefined) kept.push([name.toWellFormed(), convert(item, path, name)]);
  }
  if (entries.length > MOST_ITEMS) kept.push(["…", `[${entries.length - MOST_ITEMS} more]`]);
  return Object.fromEntries(kept);
}

function hasToJson(value: object): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}

function safeString(value: unknown): string {
  try {
    return String(value).toWellFormed();
  } catch {
    return "[unprintable]";
  }
}
