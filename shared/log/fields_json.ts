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
const MOST_VALUES = 2_000;
const LONGEST_TEXT = 16 * 1024;

/** What stays hidden when a value is made plain. */
export interface Veil {
  /** What is shown for whatever stands under this key; undefined to show the value. */
  hide(key: string, value: unknown): string | undefined;
  /** The text without its secrets. */
  text(text: string): string;
  /** A list without those of its texts that follow the name of a secret: `["--token", "abc"]`. */
  list(items: readonly unknown[]): readonly unknown[];
}

const NO_VEIL: Veil = { hide: () => undefined, text: (text) => text, list: (items) => items };

interface Conversion {
  /** Values that may still be kept; what comes after is cut. */
  left: number;
  veil: Veil;
}

/** Compact JSON of a line's fields. Never throws, whatever the values are. */
export function fieldsToJson(fields: Fields): string {
  return JSON.stringify(toPlain(fields)).replace(CONTROL, escapeUnit);
}

// JSON escapes those below 0x20 itself.
const CONTROL = /[\u007f-\u009f]/g;

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
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

/** A text, but not more of it than a reader looks at. */
export function cutText(text: string, longest: number): string {
  const over = text.length - longest;
  return over > 0 ? `${text.slice(0, longest)}… (${over} more characters)` : text;
}

/**
 * Any value as plain data: errors as their text, big integers and functions as text, dates and
 * everything with `toJSON` (secrets too) as that says, bytes as their number. What is deeper,
 * longer or wider than a reader looks at is cut.
 *
 * @param veil hides secrets; default nothing is hidden.
 * @param key the key `value` stands under.
 */
export function toPlain(value: unknown, veil: Veil = NO_VEIL, key = ""): PlainValue {
  try {
    return convert(value, [], key, { left: MOST_VALUES, veil });
  } catch {
    return "[unprintable]";
  }
}

function convert(
  value: unknown,
  above: readonly object[],
  key: string,
  conversion: Conversion,
): PlainValue {
  if (conversion.left-- <= 0) return "[cut]";
  const isThere = value !== undefined && value !== null && value !== "";
  const hidden = isThere && typeof value !== "boolean"
    ? conversion.veil.hide(key, value)
    : undefined;
  if (hidden !== undefined) return hidden;
  switch (typeof value) {
    case "string":
      return shown(value, conversion);
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "object":
      return value === null ? null : convertObject(value, above, key, conversion);
    case "undefined":
      return null;
    default:
      return shown(safeString(value), conversion);
  }
}

function shown(text: string, { veil }: Conversion): string {
  return veil.text(cutText(text, LONGEST_TEXT)).toWellFormed();
}

function convertObject(
  value: object,
  above: readonly object[],
  key: string,
  conversion: Conversion,
): PlainValue {
  if (value instanceof Error) return shown(errorText(value), conversion);
  if (above.includes(value)) return "[circular]";
  if (above.length >= DEEPEST) return "[deep]";
  const path = [...above, value];
  if (hasToJson(value)) {
    const json = value.toJSON(key);
    return json === value
      ? shown(safeString(value), conversion)
      : convert(json, path, key, conversion);
  }
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value) || value instanceof Set) {
    return convertList([...value], path, conversion);
  }
  const entries = value instanceof Map
    ? [...value].map(([name, item]): [string, unknown] => [safeString(name), item])
    : Object.entries(value);
  return convertEntries(entries, path, conversion);
}

function convertList(
  items: readonly unknown[],
  path: readonly object[],
  conversion: Conversion,
): PlainValue[] {
  const shown = conversion.veil.list(items.slice(0, MOST_ITEMS));
  const kept = shown.map((item) => convert(item, path, "", conversion));
  return items.length > MOST_ITEMS ? [...kept, `[${items.length - MOST_ITEMS} more]`] : kept;
}

function convertEntries(
  entries: [string, unknown][],
  path: readonly object[],
  conversion: Conversion,
): PlainValue {
  const kept: [string, PlainValue][] = [];
  for (const [name, item] of entries.slice(0, MOST_ITEMS)) {
    if (item !== undefined) kept.push([name.toWellFormed(), convert(item, path, name, conversion)]);
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
