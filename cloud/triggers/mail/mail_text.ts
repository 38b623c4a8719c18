/** What a mail about a trigger says. Pure. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { TriggerType } from "../../storage/database/schema.ts";
import { escapeHtml, mailHtml, oneLine } from "./mail_html.ts";

export interface MailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface MailAbout {
  readonly triggerName: string;
  readonly triggerType: TriggerType;
  readonly machineName: string;
  readonly partName: string;
  readonly locationName: string;
  readonly organizationName: string;
  readonly at: Date;
  readonly isTest: boolean;
  /** The body of a webhook for the same event; empty for a part that came or went. */
  readonly body: JsonObject;
  /** Where the machine is looked at. */
  readonly machineUrl: string;
}

/** A reading is shown up to here. */
const LONGEST_DATA = 4_000;
const LONGEST_SUBJECT = 200;

/** Subject and both forms of the text. */
export function mailContent(about: MailAbout): MailContent {
  const { machineName, triggerName, isTest, machineUrl } = about;
  const sentence = sentenceOf(about);
  const prefix = isTest ? "Test: " : "";
  const subject = `${prefix}${machineName}: ${headlineOf(about)} (${triggerName})`;
  const rows = rowsOf(about);
  const test = isTest ? ["This is a test that somebody asked for. Nothing has happened."] : [];
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

function sentenceOf(about: MailAbout): string {
  const { triggerType, partName, machineName, body } = about;
  const part = `Part ${partName} of machine ${machineName}`;
  switch (triggerType) {
    case "part_online":
      return `${part} is online.`;
    case "part_offline":
      return `${part} is offline.`;
    case "part_data_ingested":
      return `${part} has synced data of ${body["component_name"] || "no component"}.`;
    case "conditional_data_ingested":
      return `Data of ${body["component_name"]} on ${machineName} met the condition.`;
    case "conditional_logs_ingested":
      return `${part} has logged lines of a level that is watched.`;
  }
}

function rowsOf(about: MailAbout): [string, string][] {
  const { body } = about;
  const rows: [string, string][] = [
    ["Time", about.at.toISOString()],
    ["Machine", about.machineName],
    ["Part", about.partName],
    ["Location", about.locationName],
    ["Organisation", about.organizationName],
  ];
  const more: [string, string][] = [
    ["component_name", "Component"],
    ["method_name", "Method"],
    ["data_type", "Kind of data"],
    ["trigger_condition", "Condition"],
    ["file_id", "File"],
    ["data", "Data"],
    ["logs", "Lines"],
  ];
  for (const [key, name] of more) {
    const value = body[key];
    if (value === undefined || value === "") continue;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    rows.push([name, text.length > LONGEST_DATA ? `${text.slice(0, LONGEST_DATA)} …` : text]);
  }
  return rows.map(([name, value]) => [name, oneLine(value)]);
}
