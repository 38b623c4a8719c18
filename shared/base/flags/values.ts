import type { BooleanFlag, Flag, IntegerFlag, ListFlag, StringFlag } from "./spec.ts";
import { UsageError } from "./usage_error.ts";

// What Go's strconv.ParseBool takes, and yes/no, which people write into environments.
const TRUE = new Set(["1", "t", "T", "true", "TRUE", "True", "yes", "YES"]);
const FALSE = new Set(["0", "f", "F", "false", "FALSE", "False", "no", "NO"]);

/**
 * The value that a text stands for.
 *
 * @param source what the text was given by, for the error: "--wait" or "MACHINE_AGENT_DEBUG".
 * @throws {UsageError}
 */
export function parseValue(
  flag: Exclude<Flag, ListFlag>,
  text: string,
  source: string,
): boolean | number | string {
  switch (flag.type) {
    case "boolean":
      return parseBoolean(text, source);
    case "integer":
      return parseInteger(flag, text, source);
    case "string":
      return parseChoice(flag, text, source);
  }
}

/** What a flag is when nothing gives it a value. */
export function defaultValue(
  flag: Flag,
): boolean | number | string | readonly string[] | undefined {
  if (flag.type === "list") return [];
  return flag.type === "boolean" ? flag.default ?? false : flag.default;
}

function parseBoolean(text: string, source: string): BooleanFlag["default"] & boolean {
  if (TRUE.has(text)) return true;
  if (FALSE.has(text)) return false;
  throw new UsageError(`invalid value "${text}" for ${source}: allowed are true and false`);
}

function parseInteger(flag: IntegerFlag, text: string, source: string): number {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = flag;
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(`invalid value "${text}" for ${source}: ${allowedIntegers(flag)}`);
}

function allowedIntegers({ min, max }: IntegerFlag): string {
  if (min !== undefined && max !== undefined) {
    return `a whole number from ${min} to ${max} is needed`;
  }
  if (min !== undefined) return `a whole number of at least ${min} is needed`;
  if (max !== undefined) return `a whole number of at most ${max} is needed`;
  return "a whole number is needed";
}

function parseChoice(flag: StringFlag, text: string, source: string): string {
  if (!flag.choices || flag.choices.includes(text)) return text;
  const allowed = flag.choices.join(", ");
  throw new UsageError(`invalid value "${text}" for ${source}: allowed are ${allowed}`);
}
