/** The part of JSON Schema that zod writes for this project. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

/** One field, as a table shows it. */
export interface FieldRow {
  /** Dotted path; `[]` after a list, `*` for any key. */
  path: string;
  /** What it may hold, in words. */
  type: string;
  isRequired: boolean;
  /** Empty when nothing is taken in its place. */
  default: string;
  meaning: string;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "text",
  integer: "whole number",
  boolean: "true or false",
  array: "list",
  null: "null",
};

/**
 * Every field below a schema, in its order.
 *
 * @param path where the schema stands; its fields' paths begin with it.
 * @param leaveOut paths whose fields another table has.
 */
export function fieldRows(
  schema: JsonSchema,
  path = "",
  leaveOut: readonly string[] = [],
): FieldRow[] {
  if (leaveOut.includes(path)) return [];
  const rows: FieldRow[] = [];
  for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
    rows.push(...fieldRows(branch, path, leaveOut));
  }
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const at = path === "" ? name : `${path}.${name}`;
    rows.push(fieldRow(at, field, schema.required?.includes(name) ?? false));
    rows.push(...fieldRows(field, at, leaveOut));
  }
  if (schema.items) rows.push(...fieldRows(schema.items, `${path}[]`, leaveOut));
  if (typeof schema.additionalProperties === "object") {
    rows.push(...fieldRows(schema.additionalProperties, `${path}.*`, leaveOut));
  }
  return rows;
}

function fieldRow(path: string, schema: JsonSchema, isRequired: boolean): FieldRow {
  const { meaning, default: said } = splitDefault(schema.description ?? "");
  const value = schema.default;
  const isEmpty = value === undefined || value === null || value === "" ||
    (typeof value === "object" && Object.keys(value).length === 0);
  return {
    path,
    type: typeText(schema),
    isRequired,
    default: isEmpty ? said : `\`${typeof value === "string" ? value : JSON.stringify(value)}\``,
    meaning,
  };
}

/** Descriptions end with "Default: x." or "Default x." where there is one. */
function splitDefault(description: string): { meaning: string; default: string } {
  const match = /(?:^|(?<=[.!?])\s+)Default:? ((?:[^.]|\.(?=\S))+)\.?\s*/.exec(description);
  if (!match) return { meaning: description, default: "" };
  const rest = description.slice(0, match.index) + " " +
    description.slice(match.index + match[0].length);
  return { meaning: rest.trim(), default: match[1] ?? "" };
}

function typeText(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
  const branches = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (branches.length > 0) return [...new Set(branches.map(typeText))].join(" or ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => TYPE_WORDS[type] ?? type).join(" or ");
  }
  if (schema.type === "array" && schema.items) return `list of ${plural(schema.items)}`;
  const word = TYPE_WORDS[schema.type ?? ""] ?? schema.type ?? "anything";
  return `${word}${rangeText(schema)}`;
}

function plural(items: JsonSchema): string {
  const type = typeText(items);
  const words: Record<string, string> = {
    text: "texts",
    object: "objects",
    number: "numbers",
    "whole number": "whole numbers",
  };
  return words[type] ?? type;
}

// Bounds that only say what fits into a number are left away.
const LARGEST = 2 ** 53 - 1;

function rangeText({ minimum, maximum }: JsonSchema): string {
  const from = minimum !== undefined && minimum > -LARGEST ? minimum : undefined;
  const to = maximum !== undefined && maximum < LARGEST ? maximum : undefined;
  if (from !== undefined && to !== undefined) return `, ${from} to ${to}`;
  if (from !== undefined) return `, at least ${from}`;
  return to === undefined ? "" : `, at most ${to}`;
}

/** The rows as a table in Markdown. */
export function fieldTable(rows: readonly FieldRow[]): string {
  const lines = rows.map(({ path, type, isRequired, default: taken, meaning }) => {
    const without = isRequired ? "required" : markdown(taken) || "–";
    return `| \`${path}\` | ${markdown(type)} | ${without} | ${markdown(meaning)} |`;
  });
  return ["| field | type | default | meaning |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

/** Text in which nothing but code marks means something to Markdown. */
function markdown(text: string): string {
  return text.split(/(`[^`]*`)/).map((part) =>
    part.startsWith("`") ? part.replaceAll("|", "\\|") : part.replace(/[<>*|_[\]]/g, "\\$&")
  ).join("").replaceAll("\n", " ");
}
