/**
 * Small additions to zod that every schema of the machine configuration uses.
 *
 * Only files that are loaded for reading JSON import this one: a running server that gets its
 * configuration as a message never loads zod (about 10 MB and 20 ms).
 */
// As a namespace, here and wherever a schema is written: the bundler leaves out what is not used of
// it, which are 40 languages and half of the library.
import * as z from "zod";
import { LONGEST_MODULE_NAME, LONGEST_RESOURCE_NAME, NAME_PATTERN } from "./forms.ts";

/** Builds something on first use and keeps it, so that importing a schema file costs nothing. */
export function once<T>(build: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: build() }).value;
}

/**
 * An object that keeps keys it does not know. The static type lists the known keys only, so that a
 * misspelt key in our own code is still a compile error.
 */
export function openObject<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<S, z.core.$strip>;
}

/** Free-form JSON object, for example `attributes`: every key is fine and none is warned about. */
export function freeObject(): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return z.record(z.string(), z.unknown());
}

const orOne = new WeakSet<z.ZodType>();

/** A list that may also be written as its only entry; `readShape` makes a list of it. */
export function listOrOne<T extends z.ZodType>(entry: T, description: string): z.ZodArray<T> {
  // A description makes another schema, so it must be there before.
  const list = z.array(entry).describe(description);
  orOne.add(list);
  return list;
}

/** Whether a schema is one of {@link listOrOne}. */
export function isListOrOne(schema: z.ZodType): boolean {
  return orOne.has(schema);
}

/** A number that must be whole. */
export function integer(): z.ZodInt {
  return z.int();
}

/**
 * A name, with its form for editors only: whether it is right is decided by the checks, which also
 * know configurations that were never JSON.
 */
export function nameText(kind: "resource" | "module"): z.ZodString {
  const maxLength = kind === "resource" ? LONGEST_RESOURCE_NAME : LONGEST_MODULE_NAME;
  return z.string().meta({ pattern: NAME_PATTERN, maxLength });
}
