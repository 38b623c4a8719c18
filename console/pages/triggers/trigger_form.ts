import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

export const DATA_TYPES = ["tabular", "binary", "file", "unspecified"] as const;
export const LOG_LEVELS = ["error", "warn", "info"] as const;
export const OPERATORS = ["gt", "gte", "lt", "lte", "eq", "neq", "regex"] as const;

/** One comparison: the dotted field (empty: the reading's only value) and the value as typed. */
export interface ConditionRow {
  field: string;
  operator: string;
  value: string;
}

/** One receiver as typed; `entry` is what the configuration holds of it, with what no form shows. */
export interface ReceiverRow {
  readonly entry: JsonObject;
  kind: string;
  value: string;
  seconds: string;
}

/** A trigger as the form holds it. */
export interface TriggerForm {
  name: string;
  event: string;
  dataTypes: string[];
  logLevels: string[];
  method: string;
  conditions: ConditionRow[];
  receivers: ReceiverRow[];
  isEnabled: boolean;
}

/** Whether an event heeds the seconds between notifications; for the others they mean nothing. */
export function isSpaced(event: string): boolean {
  return event === "part_data_ingested" || event === "conditional_data_ingested";
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** A list; what stands alone counts as a list of one. */
export function listOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

export function emptyReceiver(): ReceiverRow {
  return { entry: {}, kind: "webhook", value: "", seconds: "" };
}

/** The comparisons of an entry, one a field. */
export function conditionsOf(conditional: JsonObject): ConditionRow[] {
  return ["conditions", "condition"].flatMap((key) =>
    listOf(objectOf(conditional[key])["evals"]).flatMap((each) => {
      const { operator, value } = objectOf(each);
      return leavesOf(value, []).map((leaf) => ({ ...leaf, operator: textOf(operator) }));
    })
  );
}

function leavesOf(
  value: JsonValue | undefined,
  path: readonly string[],
): { field: string; value: string }[] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
  }
  return value === undefined ? [] : [{ field: path.join("."), value: typed(value) }];
}

/** Whether a text names a component type, a component and a method. */
export function isCaptureMethod(text: string): boolean {
  return /^[^:]+:[^:]+:[^:]+$/.test(text);
}

/** A source of readings as `data_capture_method` names it: `sensor:host:Readings`. */
export function captureMethod(
  source: {
    readonly resourceSubtype: string;
    readonly resourceName: string;
    readonly methodName: string;
  },
): string {
  const type = source.resourceSubtype.split(":").at(-1) ?? "";
  return `${type}:${source.resourceName}:${source.methodName}`;
}

/** The fields of a reading that a condition may name. */
export function fieldsIn(reading: JsonObject): string[] {
  const { readings } = reading;
  const values = Object.keys(reading).length === 1 && readings !== undefined ? readings : reading;
  return [...new Set(leavesOf(values, []).map(({ field }) => field))]
    .filter((field) => field !== "");
}

/** A value as it is typed: texts in quotes only where they would be read as something else. */
function typed(value: JsonValue): string {
  return typeof value === "string" && parseValue(value) === value
    ? value
    : JSON.stringify(value) ?? "";
}

/** Reads what was typed: a number, true, false, a text in quotes; everything else is a text. */
export function parseValue(text: string): JsonValue {
  const trimmed = text.trim();
  if (!/^(true|false|-?\d.*|".*")$/s.test(trimmed)) return text;
  try {
    return JSON.parse(trimmed) as JsonValue;
  } catch {
    return text; // Begins like a number or a quoted text and is none, such as 10 °C.
  }
}

/** The form of an entry of `triggers`; undefined: of a new one. */
export function toForm(entry: JsonObject | undefined): TriggerForm {
  const event = objectOf(entry?.["event"]);
  const conditional = objectOf(event["conditional"]);
  return {
    name: textOf(entry?.["name"]),
    event: textOf(event["type"]) || "part_offline",
    dataTypes: entry
      ? listOf(objectOf(event["data_ingested"])["data_types"]).map(textOf)
      : ["tabular"],
    logLevels: entry ? listOf(event["log_levels"]).map(textOf) : ["error"],
    method: textOf(conditional["data_capture_method"]),
    conditions: conditionsOf(conditional),
    receivers: entry
      ? listOf(entry["notifications"]).map(objectOf).map(toReceiver)
      : [emptyReceiver()],
    isEnabled: entry?.["disabled"] !== true,
  };
}

function toReceiver(entry: JsonObject): ReceiverRow {
  const seconds = entry["seconds_between_notifications"];
  return {
    entry,
    kind: textOf(entry["type"]),
    value: textOf(entry["value"]),
    seconds: typeof seconds === "number" ? String(seconds) : "",
  };
}

/** The entry that a form stands for. What the form does not show, and what was not changed, stays. */
export function toEntry(form: TriggerForm, before: JsonObject | undefined): JsonObject {
  const entry: JsonObject = {
    ...before,
    name: form.name,
    event: toEvent(form, objectOf(before?.["event"])),
    notifications: form.receivers.map(toNotification),
  };
  if (form.isEnabled) delete entry["disabled"];
  else entry["disabled"] = true;
  return entry;
}

function toEvent(form: TriggerForm, before: JsonObject): JsonObject {
  const event: JsonObject = { ...before, type: form.event };
  if (form.event !== "part_data_ingested") delete event["data_ingested"];
  else {
    event["data_ingested"] = {
      ...objectOf(before["data_ingested"]),
      data_types: [...form.dataTypes],
    };
  }
  if (form.event !== "conditional_logs_ingested") delete event["log_levels"];
  else event["log_levels"] = [...form.logLevels];
  if (form.event !== "conditional_data_ingested") delete event["conditional"];
  else event["conditional"] = toConditional(form, objectOf(before["conditional"]));
  return event;
}

function toConditional(form: TriggerForm, before: JsonObject): JsonObject {
  const { condition: _older, ...others } = before;
  const isSame = JSON.stringify(conditionsOf(before)) === JSON.stringify(form.conditions);
  const kept: JsonObject = isSame ? before : others;
  const conditional: JsonObject = { ...kept, data_capture_method: form.method };
  if (!isSame) {
    conditional["conditions"] = {
      evals: form.conditions.map(({ field, operator, value }) => ({
        operator,
        value: field.trim() === "" ? parseValue(value) : { [field.trim()]: parseValue(value) },
      })),
    };
  }
  return conditional;
}

function toNotification({ entry, kind, value, seconds }: ReceiverRow): JsonObject {
  const { seconds_between_notifications: _before, ...others } = entry;
  const least = seconds.trim() === "" ? NaN : Number(seconds);
  return {
    ...others,
    type: kind,
    value: value.trim(),
    ...(Number.isFinite(least) && least >= 0 && { seconds_between_notifications: least }),
  };
}

/** The entry of a name in a configuration. */
export function entryOf(config: JsonObject, name: string): JsonObject | undefined {
  return listOf(config["triggers"]).map(objectOf).find((entry) => entry["name"] === name);
}

/** A configuration with an entry in place of the one of a name, or behind all. */
export function withEntry(config: JsonObject, entry: JsonObject, replaces: string): JsonObject {
  const all = listOf(config["triggers"]);
  const at = all.findIndex((each) => replaces !== "" && objectOf(each)["name"] === replaces);
  return { ...config, triggers: at < 0 ? [...all, entry] : all.with(at, entry) };
}
