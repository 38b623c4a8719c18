import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Text, Values } from "../../texts/text.ts";
import { triggers as words } from "../../texts/triggers.ts";
import { conditionsOf, isSpaced, listOf, objectOf, textOf } from "./trigger_form.ts";

type Say = (text: Text, values?: Values) => string;

const SIGNS: Readonly<Record<string, string>> = {
  ...{ gt: ">", gte: "≥", lt: "<", lte: "≤", eq: "=", neq: "≠", regex: "~" },
};
const KINDS: ReadonlyMap<string, Text> = new Map<string, Text>([
  ["webhook", words.webhook],
  ["email", words.email],
  ["push", words.push],
]);

/** An operator as it is shown: `>`; what is not known stays as it is. */
export function signOf(operator: string): string {
  return Object.hasOwn(SIGNS, operator) ? SIGNS[operator] ?? operator : operator;
}

/** When a trigger fires, in words. */
export function eventWords(entry: JsonObject, say: Say): string {
  const event = objectOf(entry["event"]);
  const type = textOf(event["type"]);
  switch (type) {
    case "part_online":
      return say(words.online);
    case "part_offline":
      return say(words.offline);
    case "part_data_ingested":
      return say(words.ingested, { what: texts(objectOf(event["data_ingested"])["data_types"]) });
    case "conditional_logs_ingested":
      return say(words.logs, { what: texts(event["log_levels"]) });
    case "conditional_data_ingested":
      return conditionWords(objectOf(event["conditional"]), say);
    default:
      return say(words.otherEvent, { what: type });
  }
}

function conditionWords(conditional: JsonObject, say: Say): string {
  const method = textOf(conditional["data_capture_method"]);
  const conditions = conditionsOf(conditional);
  if (conditions.length === 0) return say(words.unconditional, { method });
  const condition = conditions
    .map(({ field, operator, value }) =>
      `${field || say(words.theValue)} ${signOf(operator)} ${value}`
    )
    .reduce((a, b) => say(words.and, { a, b }));
  return say(words.conditional, { method, condition });
}

/** Whether it sends webhooks, which are signed. */
export function hasWebhook(entry: JsonObject): boolean {
  return listOf(entry["notifications"]).some((each) => objectOf(each)["type"] === "webhook");
}

/** Who is notified, one text each. Passwords in URLs are not shown. */
export function receiverWords(entry: JsonObject, say: Say): string[] {
  const spaces = isSpaced(textOf(objectOf(entry["event"])["type"]));
  return listOf(entry["notifications"]).map(objectOf).map((receiver) => {
    const { type, value, seconds_between_notifications: seconds } = receiver;
    const target = textOf(value) === "all_machine_owners"
      ? say(words.owners)
      : withoutPassword(textOf(value));
    const kind = KINDS.get(textOf(type));
    const spacing = spaces && typeof seconds === "number" && seconds > 0
      ? ` · ${say(words.spacing, { n: seconds })}`
      : "";
    return `${kind ? say(kind) : textOf(type)} ${target}${spacing}`;
  });
}

function withoutPassword(target: string): string {
  return target.replace(/^(https?:\/\/)[^/?#]*@/i, "$1");
}

function texts(value: JsonValue | undefined): string {
  return listOf(value).map(textOf).join(", ");
}
