import * as z from "zod";
import { machineConfigSchema } from "./schema.ts";

/**
 * JSON Schema (draft 2020-12) of a machine configuration, with a description for every field, for
 * editors. It says what is usual; `validateForSave` decides.
 */
export function machineConfigJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(machineConfigSchema(), { io: "input", unrepresentable: "any" });
  return { ...schema, title: "Machine configuration" };
}
