/** What the mail about the end of a training job says. Pure. */
import { escapeHtml, mailHtml, oneLine } from "../../triggers/mail/mail_html.ts";
import type { MailContent } from "../../triggers/mail/mail_text.ts";
import type { JobRow } from "../jobs/jobs.ts";

export interface EndedJob {
  readonly job: JobRow;
  readonly datasetName: string;
  readonly organizationName: string;
}

const WHY = "Sent because your address is one of the owners of the organisation.";
const LONGEST_REASON = 4_000;
const LONGEST_SUBJECT = 200;

/** Subject and both forms of the text. */
export function endMail(about: EndedJob): MailContent {
  const { job } = about;
  const sentence = sentenceOf(job);
  const rows = rowsOf(about);
  return {
    subject: oneLine(`${modelOf(job)}: training ${headlineOf(job)}`).slice(0, LONGEST_SUBJECT),
    text: [
      sentence,
      rows.map(([name, value]) => `${name}: ${value}`).join("\n"),
      `Read what it printed: machine-cloud training logs ${job.id}`,
      WHY,
    ].join("\n\n") + "\n",
    html: mailHtml({
      sentences: [sentence],
      rows,
      next: "Read what it printed: " +
        `<code>machine-cloud training logs ${escapeHtml(job.id)}</code>`,
      why: WHY,
    }),
  };
}

function modelOf({ model_name, model_version }: JobRow): string {
  return `${model_name} ${model_version}`;
}

function headlineOf({ state }: JobRow): string {
  return state === "completed" ? "completed" : state === "canceled" ? "canceled" : "failed";
}

function sentenceOf(job: JobRow): string {
  const model = `Model ${modelOf(job)}`;
  switch (job.state) {
    case "completed":
      return `${model} is trained. Machines can use it as package ${job.package_id}.`;
    case "canceled":
      return `${model} was not trained: somebody canceled the job.`;
    default:
      return `${model} was not trained: the job failed.`;
  }
}

function rowsOf({ job, datasetName, organizationName }: EndedJob): [string, string][] {
  const metrics = Object.entries(JSON.parse(job.metrics) as Record<string, number>);
  const rows: [string, string][] = [
    ["Job", job.id],
    ["Organisation", organizationName],
    ["Dataset", datasetName || job.dataset_id],
    ["Script", `${job.registry_item_id} ${job.registry_item_version}`],
    ["Started", timeText(job.started_at)],
    ["Ended", timeText(job.ended_at)],
    ["Reason", job.state === "failed" ? job.error_message.slice(0, LONGEST_REASON) : ""],
    ...metrics.map(([name, value]): [string, string] => [name, String(value)]),
  ];
  return rows.map(([name, value]): [string, string] => [oneLine(name), oneLine(value)])
    .filter(([, value]) => value !== "");
}

function timeText(ms: number | null): string {
  return ms === null ? "" : new Date(ms).toISOString();
}
