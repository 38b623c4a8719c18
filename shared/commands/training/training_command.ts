import { toJson } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { FlagValues } from "../../base/flags/flags.ts";
import {
  ContainerSchema,
  MLTrainingService,
  type TrainingJobLogEntry,
  TrainingJobLogEntrySchema,
  type TrainingJobMetadata,
  TrainingJobMetadataSchema,
  TrainingStatus,
} from "../../gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { chooseOrganization } from "../choice/organization.ts";
import {
  clientOf,
  type CommandContext,
  type CommandOf,
  done,
  type Output,
} from "../run/command.ts";
import { followJob } from "./job_follower.ts";
import { JobLogReader } from "./job_log_reader.ts";
import { containerTable, jobTable, jobText, logLine, statusName } from "./job_texts.ts";
import { listScripts, uploadScript } from "./script_commands.ts";
import { readTraining, submitJob } from "./submit.ts";
import type {
  listFlags,
  logsFlags,
  STATUS_NAMES,
  submitFlags,
  trainingCommands,
} from "./training_flags.ts";

/** One of the commands about training, as the command line requests it. */
export type TrainingCommand = CommandOf<typeof trainingCommands>;

type TrainingClient = Client<typeof MLTrainingService>;

/**
 * Does what the command line requests.
 *
 * @throws {UsageError}, {ArchiveError}, {FileError}; an Error also when a job that was waited for
 * made no model
 */
export async function runTrainingCommand(
  parsed: TrainingCommand,
  context: CommandContext,
): Promise<Output | void> {
  const [argument = ""] = parsed.arguments;
  if (parsed.command === "training-script upload") {
    const json = await uploadScript(parsed.values, argument, context);
    return { json, text: `${JSON.stringify(json)}\n`, ids: [json.script] };
  }
  if (parsed.command === "training-script list") return await listScripts(context);
  // What is wrong with the command line is reported before anybody signs in.
  if (parsed.command === "training submit") readTraining(parsed.values);
  const training = await clientOf(context, MLTrainingService);
  switch (parsed.command) {
    case "training submit":
      return await submit(training, parsed.values, context);
    case "training list":
      return await list(training, parsed.values, context);
    case "training get": {
      const job = await getJob(training, argument);
      return { json: jobJson(job), text: jobText(job), ids: [job.id] };
    }
    case "training logs":
      return await logs(training, argument, parsed.values, context);
    case "training cancel": {
      await training.cancelTrainingJob({ id: argument });
      const status = statusName((await getJob(training, argument)).status);
      return done({ id: argument, status }, `training job ${argument} is ${status}`);
    }
    case "training delete":
      await training.deleteCompletedTrainingJob({ id: argument });
      return done({ id: argument }, `training job ${argument} is deleted; what it made stays`);
    case "training containers": {
      const { containerMap } = await training.listSupportedContainers({});
      const containers = Object.values(containerMap);
      return {
        json: containers.map((one) => toJson(ContainerSchema, one)),
        text: containerTable(containers),
        ids: containers.map(({ key }) => key),
      };
    }
  }
}

async function submit(
  training: TrainingClient,
  flags: FlagValues<typeof submitFlags>,
  context: CommandContext,
): Promise<Output> {
  const id = await submitJob(context, flags);
  const { program, json, quiet } = context;
  const said = `training job ${id} is submitted`;
  if (!flags.wait && !flags.follow) {
    return {
      json: jobJson(await getJob(training, id)),
      text: `${said}; ${program} training logs -f ${id} shows how it goes\n`,
      ids: [id],
    };
  }
  if (!json && !quiet) await write(context, `${said}\n`);
  const onLine = (line: TrainingJobLogEntry) => writeLine(context, line);
  return ended(
    await followJob(training, id, context.clock, flags.follow ? onLine : undefined),
  );
}

async function list(
  training: TrainingClient,
  { status }: FlagValues<typeof listFlags>,
  context: CommandContext,
): Promise<Output> {
  const { id: organizationId } = await chooseOrganization(context);
  const { jobs } = await training.listTrainingJobs({
    organizationId,
    status: status === undefined ? TrainingStatus.UNSPECIFIED : STATUSES[status],
  });
  return { json: jobs.map(jobJson), text: jobTable(jobs, context), ids: jobs.map(({ id }) => id) };
}

async function logs(
  training: TrainingClient,
  id: string,
  { follow }: FlagValues<typeof logsFlags>,
  context: CommandContext,
): Promise<Output | void> {
  const onLine = (line: TrainingJobLogEntry) => writeLine(context, line);
  if (follow) return ended(await followJob(training, id, context.clock, onLine));
  for await (const line of new JobLogReader(training, id).newLines()) await onLine(line);
}

/** What to print at the end. Throws for a job that made no model: the command fails then. */
function ended(job: TrainingJobMetadata): Output {
  const { id, status, errorStatus, syncedModelId, modelName, modelVersion } = job;
  if (status === TrainingStatus.COMPLETED) {
    const text = `training job ${id} made version ${modelVersion} of ${
      syncedModelId || modelName
    }\n`;
    return { json: jobJson(job), text, ids: [id] };
  }
  const reason = errorStatus?.message ? `: ${errorStatus.message}` : "";
  throw new Error(`training job ${id} ${VERBS[status]}${reason}`);
}

const VERBS: Readonly<Partial<Record<TrainingStatus, string>>> = {
  [TrainingStatus.FAILED]: "failed",
  [TrainingStatus.CANCELED]: "was canceled",
};

const STATUSES: Readonly<Record<typeof STATUS_NAMES[number], TrainingStatus>> = {
  "pending": TrainingStatus.PENDING,
  "in-progress": TrainingStatus.IN_PROGRESS,
  "completed": TrainingStatus.COMPLETED,
  "failed": TrainingStatus.FAILED,
  "canceling": TrainingStatus.CANCELING,
  "canceled": TrainingStatus.CANCELED,
};

async function getJob(training: TrainingClient, id: string): Promise<TrainingJobMetadata> {
  const { metadata } = await training.getTrainingJob({ id });
  if (metadata) return metadata;
  throw new Error(`the cloud reports nothing of the training job ${id}; try again`);
}

function jobJson(job: TrainingJobMetadata) {
  return toJson(TrainingJobMetadataSchema, job);
}

async function writeLine(context: CommandContext, line: TrainingJobLogEntry): Promise<void> {
  const text = context.json
    ? `${JSON.stringify(toJson(TrainingJobLogEntrySchema, line))}\n`
    : logLine(line);
  await write(context, text);
}

async function write(context: CommandContext, text: string): Promise<void> {
  await context.write(new TextEncoder().encode(text));
}
