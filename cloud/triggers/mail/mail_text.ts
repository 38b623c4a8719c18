/** What a mail about a trigger says. Pure. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { TriggerType } from "../../storage/database/trigger_schema.ts";
import type { EventFacts } from "../events/facts.ts";
import { readingJson } from "../events/webhook_text.ts";
import { escapeHtml, mailHtml, oneLine } from "./mail_html.ts";

export interface MailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface MailAbout {
  readonly triggerName: string;
  readonly triggerType: TriggerType;
  readonly facts: EventFacts;
  readonly at: Date;
  readonly isTest: boolean;
  /** Where the machine is looked at. */
  readonly machineUrl: string;
}

/** A reading is shown up to here. */
const LONGEST_DATA = 4_000;
const LONGEST_SUBJECT = 200;

/** Subject and both forms of the text. */
export function mailContent(about: MailAbout): MailContent {
  const { triggerName, isTest, machineUrl, facts: { part: { machineName } } } = about;
  const sentence = sentenceOf(about);
  const prefix = isTest ? "Test: " : "";
  const subject = `${prefix}${machineName}: ${headlineOf(about)} (${triggerName})`;
  const rows = rowsOf(about);
  const test = isTest ? ["This is a test that somebody requested. Nothing has happened."] : [];
  const why =
    `Sent by trigger ${triggerName} of ${machineName}; it is changed in the machine's configuration.`;
  return {
    subject: oneLine(subject).slice(0, LONGEST_SUBJECT),
    text: [
      ...test,
      sentence,
      rows.map(([name, value]) => `${name}: ${value}`).join("\n"),
      `Look at the machine: ${machineUrl}`,
      why,
    ].join("\n\n") + "\n",
    html: mailHtml({
      sentences: [...test, sentence],
      rows,
      next: `<a href="${escapeHtml(machineUrl)}">Look at the machine</a>`,
      why,
    }),
  };
}

function headlineOf({ triggerType }: MailAbout): string {
  switch (triggerType) {
    case "part_online":
      return "online";
    case "part_offline":
      return "offline";
    case "part_data_ingested":
      return "data arrived";
    case "conditional_data_ingested":
      return "condition met";
    case "conditional_logs_ingested":
      return "logged";
  }
}

function sentenceOf({ triggerType, facts }: MailAbout): string {
  const { part: { partName, machineName }, occurred } = facts;
  const part = `Part ${partName} of machine ${machineName}`;
  const component = occurred.kind === "upload" ? occurred.componentName : "";
  switch (triggerType) {
    case "part_online":
      return `${part} is online.`;
    case "part_offline":
      return `${part} is offline.`;
    case "part_data_ingested":
      return `${part} has synced data of ${component || "no component"}.`;
    case "conditional_data_ingested":
      return `Data of ${component} on ${machineName} met the condition.`;
    case "conditional_logs_ingested":
      return `${part} has logged lines of a level that is watched.`;
  }
}

function rowsOf({ at, facts: { part, occurred }, triggerType }: MailAbout): [string, string][] {
  const rows: [string, JsonValue | undefined][] = [
    ["Time", at.toISOString()],
    ["Machine", part.machineName],
    ["Part", part.partName],
    ["Location", part.locationName],
    ["Organisation", part.organizationName],
  ];
  if (occurred.kind === "upload") {
    const isConditional = triggerType === "conditional_data_ingested";
    rows.push(
      ["Component", occurred.componentName],
      ["Method", occurred.methodName],
      ["Kind of data", occurred.dataType],
      isConditional ? ["Condition", occurred.condition ?? {}] : ["File", occurred.fileId],
      ["Data", readingJson(occurred)],
    );
  }
  if (occurred.kind === "logs") rows.push(["Lines", [...occurred.entries]]);
  return rows.flatMap(([name, value]) => {
    if (value === undefined || value === "") return [];
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const shown = text.length > LONGEST_DATA ? `${text.slice(0, LONGEST_DATA)} …` : text;
    return [[name, oneLine(shown)] as [string, string]];
  });
}
