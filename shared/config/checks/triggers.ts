/** Checks of triggers (spec §2.1): what the form of the entry cannot say. */
import { isEmail, parseHttpUrl } from "../forms.ts";
import { type Path, problemAt, type Report } from "../problem.ts";
import type { TriggerConfig, TriggerEval, TriggerNotification } from "../triggers.ts";
import { conditionLeaves } from "./trigger_values.ts";

const LONGEST_NAME = 200;
const MOST_NOTIFICATIONS = 50;
const MOST_EVALS = 100;
const LONGEST_PATTERN = 1_000;
const ORDERED = new Set(["lt", "gt", "lte", "gte"]);
/** Stands for the owners of the machine in place of an address. */
export const ALL_OWNERS = "all_machine_owners";

/** Checks one trigger. */
export function checkTrigger(trigger: TriggerConfig, path: Path, report: Report): void {
  if (trigger.name.trim() === "") {
    report(problemAt([...path, "name"], trigger.name, "the name is empty", "any text"));
  }
  if (trigger.name.length > LONGEST_NAME) {
    const allowed = `${LONGEST_NAME} characters at most`;
    report(problemAt([...path, "name"], trigger.name, "the name is too long", allowed));
  }
  checkEvent(trigger, [...path, "event"], report);
  if (trigger.notifications.length === 0) {
    const at = [...path, "notifications"];
    report(problemAt(at, trigger.notifications, "nobody is notified", "at least one entry"));
  }
  checkCount(trigger.notifications, MOST_NOTIFICATIONS, [...path, "notifications"], report);
  trigger.notifications.forEach((notification, at) =>
    checkNotification(notification, [...path, "notifications", at], report)
  );
}

function checkEvent({ event }: TriggerConfig, path: Path, report: Report): void {
  switch (event.type) {
    case "part_online":
    case "part_offline":
      return;
    case "part_data_ingested":
      if ((event.data_ingested?.data_types ?? []).length === 0) {
        const at = [...path, "data_ingested", "data_types"];
        const found = event.data_ingested?.data_types;
        report(problemAt(at, found, "no kind of data is named", "binary, tabular, file"));
      }
      return;
    case "conditional_logs_ingested":
      if ((event.log_levels ?? []).length === 0) {
        const at = [...path, "log_levels"];
        report(problemAt(at, event.log_levels, "no level is named", "error, warn, info"));
      }
      return;
    case "conditional_data_ingested":
      checkConditional(event.conditional, [...path, "conditional"], report);
      return;
  }
}

function checkConditional(
  conditional: TriggerConfig["event"]["conditional"],
  path: Path,
  report: Report,
): void {
  const allowed = "<component type>:<component name>:<method>, e.g. sensor:host:Readings";
  if (conditional === undefined) {
    report(problemAt(path, conditional, "the condition is missing", "an object"));
    return;
  }
  const method = conditional.data_capture_method;
  if (parseCaptureMethod(method) === undefined) {
    const at = [...path, "data_capture_method"];
    report(problemAt(at, method, "this does not name a method of a component", allowed));
  }
  for (const key of ["conditions", "condition"] as const) {
    const evals = conditional[key]?.evals ?? [];
    checkCount(evals, MOST_EVALS, [...path, key, "evals"], report);
    evals.forEach((one, at) => checkEval(one, [...path, key, "evals", at], report));
  }
}

function checkCount(list: readonly unknown[], most: number, path: Path, report: Report): void {
  if (list.length <= most) return;
  report(problemAt(path, `${list.length} entries`, "these are too many", `${most} at most`));
}

/** Reads `<component type>:<component name>:<method>`; undefined when it is not of that form. */
export function parseCaptureMethod(
  text: string,
): { type: string; name: string; method: string } | undefined {
  const parts = text.split(":").map((part) => part.trim());
  const [type, name, method] = parts;
  return parts.length === 3 && type && name && method ? { type, name, method } : undefined;
}

function checkEval(one: TriggerEval, path: Path, report: Report): void {
  const at = [...path, "value"];
  if (one.value === undefined || one.value === null) {
    report(problemAt(at, undefined, "the value to compare with is missing", "a value"));
    return;
  }
  const leaves = conditionLeaves(one.value).map(({ value, path }) => ({
    value,
    path: [...at, ...path],
  }));
  if (leaves.length === 0) {
    const allowed = "a path to a value, for example {cpu: 50}";
    report(problemAt(at, one.value, "the object names no field", allowed));
  }
  for (const leaf of leaves) checkLeaf(one.operator, leaf, report);
}

function checkLeaf(
  operator: TriggerEval["operator"],
  leaf: { value: unknown; path: Path },
  report: Report,
): void {
  if (typeof leaf.value === "object") {
    report(
      problemAt(leaf.path, leaf.value, "this cannot be compared", "number, text, true, false"),
    );
  } else if (ORDERED.has(operator) && typeof leaf.value === "boolean") {
    const message = `${operator} cannot compare with true or false`;
    report(problemAt(leaf.path, leaf.value, message, "a number, or operator eq or neq"));
  } else if (operator === "regex") {
    checkRegex(leaf, report);
  }
}

function checkRegex(leaf: { value: unknown; path: Path }, report: Report): void {
  if (typeof leaf.value !== "string") {
    report(problemAt(leaf.path, leaf.value, "regex needs a text", "a regular expression"));
    return;
  }
  // Whether it compiles is checked when it is saved: see trigger_patterns.ts.
  if (leaf.value.length > LONGEST_PATTERN) {
    const message = "the regular expression is too long";
    report(problemAt(leaf.path, leaf.value, message, `${LONGEST_PATTERN} characters at most`));
  }
}

function checkNotification(
  notification: TriggerNotification,
  path: Path,
  report: Report,
): void {
  const at = [...path, "value"];
  const value = notification.value ?? "";
  if (notification.type === "webhook" && parseHttpUrl(value) === undefined) {
    const message = "this is not the URL of a webhook";
    report(problemAt(at, notification.value, message, "http:// or https:// with a host"));
  }
  if (notification.type === "email" && !isEmail(value) && value !== ALL_OWNERS) {
    const allowed = `an address with @, or ${ALL_OWNERS}`;
    report(problemAt(at, notification.value, "this is not an email address", allowed));
  }
}
