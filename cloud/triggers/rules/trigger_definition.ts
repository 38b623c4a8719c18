import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import {
  ALL_OWNERS,
  checkTrigger,
  parseCaptureMethod,
} from "../../../shared/config/checks/triggers.ts";
import { type ConfigProblem, formatProblem } from "../../../shared/config/problem.ts";
import { readShape } from "../../../shared/config/shape.ts";
import { type TriggerConfig, triggerSchema } from "../../../shared/config/triggers.ts";
import type { TriggerType } from "../../storage/database/trigger_schema.ts";
import type { Recipient } from "../delivery/outbox.ts";
import { compileCondition, type Condition } from "./condition.ts";

/** Whom a trigger notifies. */
export interface NotificationDefinition {
  /** Distinguishes it from the others of its trigger, also when they are put into another order. */
  readonly key: string;
  /** A receiver, or all who own the machine. */
  readonly recipient: Recipient | typeof ALL_OWNERS;
  /** Least time between two, milliseconds. */
  readonly spacingMs: number;
}

/** The method of a component whose data a trigger looks at. */
export interface CaptureMethod {
  /** Last part of the component's API: `sensor`. */
  readonly type: string;
  readonly name: string;
  readonly method: string;
}

/** A trigger that may fire. */
export interface TriggerDefinition {
  readonly name: string;
  readonly type: TriggerType;
  readonly notifications: readonly NotificationDefinition[];
  /** Of `part_data_ingested`. */
  readonly dataTypes: ReadonlySet<string>;
  /** Of `conditional_logs_ingested`. */
  readonly logLevels: ReadonlySet<string>;
  /** Of `conditional_data_ingested`. */
  readonly method: CaptureMethod | undefined;
  readonly condition: Condition;
  /** The condition as it is configured, for receivers. */
  readonly conditionJson: JsonObject;
}

/** An entry of `triggers`, as it stands in the configuration. */
export interface TriggerEntry {
  readonly name: string;
  readonly config: JsonObject;
  readonly isDisabled: boolean;
  /** Undefined: it never fires, `problem` says why. */
  readonly definition: TriggerDefinition | undefined;
  /** Why it does not fire, or does not notify everybody; empty when it does. */
  readonly problem: string;
}

/** More of one part are left out. */
const MOST_TRIGGERS = 100;

/** The triggers in the configuration of a part. Never throws. */
export function readTriggers(config: JsonObject): TriggerEntry[] {
  const entries = Array.isArray(config["triggers"]) ? config["triggers"] : [];
  const seen = new Set<string>();
  return entries.flatMap((entry, at): TriggerEntry[] => {
    if (!isJsonObject(entry)) return [];
    const read = readTrigger(entry);
    if (seen.has(read.name)) return [refused(read, "another trigger before it has this name")];
    seen.add(read.name);
    if (at >= MOST_TRIGGERS) {
      return [refused(read, `a part has ${MOST_TRIGGERS} triggers at most; this one is left out`)];
    }
    return [read];
  });
}

/** One entry of `triggers`. Never throws. */
export function readTrigger(config: JsonObject): TriggerEntry {
  const name = typeof config["name"] === "string" ? config["name"] : "";
  const entry = { name, config, isDisabled: config["disabled"] === true, definition: undefined };
  const problems: ConfigProblem[] = [];
  const report = (problem: ConfigProblem) => problems.push(problem);
  const trigger = readShape(triggerSchema(), config, [], report);
  if (trigger) checkTrigger(trigger, [], report);
  const [first] = problems;
  if (first || !trigger) return { ...entry, problem: first ? formatProblem(first) : "" };
  try {
    return { ...entry, ...define(trigger) };
  } catch (error) {
    return { ...entry, problem: toError(error).message };
  }
}

/** Whether an upload is of the method that a trigger looks at. `type` may be the whole API. */
export function isOfMethod(wanted: CaptureMethod, type: string, name: string, method: string) {
  return wanted.name === name && wanted.method === method &&
    (wanted.type === type || type.endsWith(`:${wanted.type}`));
}

function define(
  trigger: TriggerConfig,
): { definition: TriggerDefinition | undefined; problem: string } {
  const { event, name } = trigger;
  const conditional = event.type === "conditional_data_ingested" ? event.conditional : undefined;
  const evals = [
    ...conditional?.conditions?.evals ?? [],
    ...conditional?.condition?.evals ?? [],
  ];
  const notifications = trigger.notifications.flatMap((notification) =>
    notificationOf(notification) ?? []
  );
  const unsent = trigger.notifications.length - notifications.length;
  return {
    definition: {
      name,
      type: event.type,
      notifications,
      dataTypes: new Set(
        event.type === "part_data_ingested" ? event.data_ingested?.data_types : [],
      ),
      logLevels: new Set(
        event.type === "conditional_logs_ingested" ? event.log_levels : [],
      ),
      method: conditional && parseCaptureMethod(conditional.data_capture_method),
      condition: compileCondition(evals),
      conditionJson: { evals: evals as unknown as JsonValue },
    },
    problem: unsent === 0 ? "" : "notifications of type push are not sent by this cloud",
  };
}

function notificationOf(
  notification: TriggerConfig["notifications"][number],
): NotificationDefinition | undefined {
  const { type, value = "" } = notification;
  if (type === "push") return undefined;
  const shared = {
    key: `${type} ${value}`,
    spacingMs: (notification.seconds_between_notifications ?? 0) * 1_000,
  };
  if (type === "email" && value === ALL_OWNERS) return { ...shared, recipient: ALL_OWNERS };
  if (type === "email") {
    return { ...shared, recipient: { type, target: value, credentials: undefined } };
  }
  const url = new URL(value);
  const inUrl = url.username === "" && url.password === ""
    ? undefined
    : { username: decoded(url.username), password: decoded(url.password) };
  url.username = "";
  url.password = "";
  const credentials = notification.auth?.basic ?? inUrl;
  return {
    ...shared,
    recipient: {
      type,
      target: url.href,
      credentials: credentials &&
        { username: credentials.username, password: credentials.password },
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A % that encodes nothing is meant.
  }
}

function refused(entry: TriggerEntry, problem: string): TriggerEntry {
  return { ...entry, definition: undefined, problem };
}
