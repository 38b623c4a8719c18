/** From JSON to entries that know where they stand: forms, short forms, unknown keys. */
import { readAgentConfig } from "./agent_settings.ts";
import { LIST_KEYS, type Located, type LocatedLists } from "./check.ts";
import { emptyMachineConfig, type MachineConfig } from "./machine_config.ts";
import { normalizeResource, type ResourceKind } from "./normalize.ts";
import { type Path, problemAt, type Report } from "./problem.ts";
import type { ResourceEntry } from "./resources.ts";
import type * as z from "zod";
import { machineConfigSchema } from "./schema.ts";
import { MOST_HINTS, readShape, warnUnknownKeys } from "./shape.ts";
import { unknownKey } from "./unknown_key.ts";

/** A configuration read from JSON, before its checks. */
export interface ReadConfig {
  config: MachineConfig;
  lists: LocatedLists;
}

const RESOURCE_KINDS: Readonly<Record<string, ResourceKind>> = {
  components: "component",
  services: "service",
};
/** A problem in one of these means that nothing may be applied. */
const FATAL_KEYS = new Set(["cloud", "network", "auth"]);

/**
 * Reads the forms of everything in a configuration. What has a wrong form is reported and left out,
 * one entry or one key at a time; unknown keys are warned about and kept.
 */
export function readMachineConfigJson(json: unknown, report: Report, warn: Report): ReadConfig {
  const lists = Object.fromEntries(LIST_KEYS.map((key) => [key, []])) as unknown as LocatedLists;
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    report(problemAt([], json, "the configuration is the wrong kind of value", "object", true));
    return { config: emptyMachineConfig(), lists };
  }
  const shape: Readonly<Record<string, z.ZodType>> = machineConfigSchema().shape;
  let hints = MOST_HINTS;
  const read: [string, unknown][] = Object.entries(emptyMachineConfig());
  for (const [key, value] of Object.entries(json)) {
    if (value === null || value === undefined) continue;
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    const list = LIST_KEYS.find((known) => known === key);
    if (schema === undefined) {
      warn(unknownKey([key], value, hints-- > 0 ? Object.keys(shape) : []));
      read.push([key, value]);
    } else if (key === "agent") {
      read.push([key, readAgentConfig(value, [key], report, warn)]);
    } else if (list === undefined) {
      read.push(...readKey(key, schema, value, report, warn));
    } else {
      readList(list, value, lists, report, warn);
      read.push([key, lists[list].map((entry) => entry.value)]);
    }
  }
  return { config: Object.fromEntries(read) as unknown as MachineConfig, lists };
}

function readKey(
  key: string,
  schema: z.ZodType,
  value: unknown,
  report: Report,
  warn: Report,
): [string, unknown][] {
  const fatal = FATAL_KEYS.has(key);
  const read = readShape(schema, value, [key], (problem) => report({ ...problem, fatal }));
  if (read === undefined) return [];
  warnUnknownKeys(schema, read, [key], warn);
  return [[key, read]];
}

function readList(
  key: keyof LocatedLists,
  value: unknown,
  lists: LocatedLists,
  report: Report,
  warn: Report,
): void {
  if (!Array.isArray(value)) {
    report(problemAt([key], value, "this is the wrong kind of value", "list"));
    return;
  }
  const element = elementOf(key);
  const kind = RESOURCE_KINDS[key];
  const target: Located<unknown>[] = lists[key];
  value.forEach((item: unknown, at) => {
    const path: Path = [key, at];
    const read = readShape(element, item, path, report);
    if (read === undefined) return;
    warnUnknownKeys(element, read, path, warn);
    target.push({ value: kind ? normalizeResource(read as ResourceEntry, kind) : read, path });
  });
}

function elementOf(key: keyof LocatedLists): z.ZodType {
  return machineConfigSchema().shape[key].unwrap().element;
}
