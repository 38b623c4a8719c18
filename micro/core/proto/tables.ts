import { ENUMS, MESSAGES, METHODS } from "../../../shared/gen/micro/messages.ts";

const ALL: Readonly<Record<string, string>> = { ...MESSAGES, ...ENUMS, ...METHODS };

/**
 * What the generated tables have of a message (its fields), an enum (its names) or a method (by its
 * path: input, output, and whether it moves something). Programs in C have another module in place of
 * this one: their tables are not in the script's heap.
 */
export function tableEntry(name: string): string | undefined {
  return Object.hasOwn(ALL, name) ? ALL[name] : undefined;
}
