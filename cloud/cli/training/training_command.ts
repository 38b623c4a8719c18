import { toJson } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import type { FlagValues, ParsedCommand } from "../../../shared/base/flags/flags.ts";
import {
  ContainerSchema,
  MLTrainingService,
  type TrainingJobLogEntry,
  TrainingJobLogEntrySchema,
  type TrainingJobMetadata,
  TrainingJobMetadataSchema,
  TrainingStatus,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Random } from "../../storage/keys/random.ts";
import { placeOf } from "../modules/module_flags.ts";
import { connectToRegistry, type RegistryConnection } from "../modules/registry_connection.ts";
import { withPlainFailures } from "../../local/connection/plain_failures.ts";
import { followJob, JobLogReader } from "./job_follower.ts";
import { containerTable, jobTable, jobText, logLine, statusName } from "./job_texts.ts";
import { listScripts, uploadScript } from "./script_commands.ts";
import { readTraining, submitJob } from "./submit.ts";
import {
  type listFlags,
  type logsFlags,
  type STATUS_NAMES,
  type submitFlags,
  type trainingCommands,
} from "./training_flags.ts";

/** One of the commands about training, as the command line asks for it. */
export type TrainingCommand = Extract<
  ParsedCommand<typeof trainingCommands>,
  { readonly command: keyof typeof trainingCommands }
>;

/** What a command works with besides the network and files. */
export interface TrainingCommandDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Writes to standard output while the command goes on. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

type TrainingClient = Client<typeof MLTrainingService>;

/**
 * Does what the command line asks for and gives back what to print after it.
 *
 * @throws {UsageError}, {ArchiveError}, {FileError}; an Error also when a job that was waited for
 * made no model
 */
export function runTrainingCommand(
  parsed: TrainingCommand,
  deps: TrainingCommandDeps,
): Promise<string> {
  return withPlainFailures(async () => {
    const [argument = ""] = parsed.arguments;
    if (parsed.command === "training-script upload") {
      return `${JSON.stringify(await uploadScript(parsed.values, argument, deps))}\n`;
    }
    if (parsed.command === "training-script list") return await listScripts(parsed.values, deps);
    // What is wrong with the command line is told before anybody signs in.
    if (parsed.command === "training submit") readTraining(parsed.values);
    await using registry = await connectToRegistry(placeOf(parsed.values, parsed.values.org), deps);
    const training = createClient(MLTrainingService, registry.transport);
    switch (parsed.command) {
      case "training submit":
        return await submit(registry, training, parsed.values, deps);
      case "training list":
        return await list(registry, training, parsed.values);
      case "training get": {
        const job = await getJob(training, argument);
        return parsed.values.json ? jobJson(job) : jobText(job);
      }
      case "training logs":
        return await logs(training, argument, parsed.values, deps);
      case "training cancel":
        await training.cancelTrainingJob({ id: argument });
        return `training job ${argument} is ${
          statusName((await getJob(training, argument)).status)
        }\n`;
      case "training delete":
        await training.deleteCompletedTrainingJob({ id: argument });
        return `training job ${argument} is deleted; what it made stays\n`;
      case "training containers": {
        const { containerMap } = await training.listSupportedContainers({});
        const containers = Object.values(containerMap);
        return parsed.values.json
          ? containers.map((one) => `${JSON.stringify(toJson(ContainerSchema, one))}\n`).join("")
          : containerTable(containers);
      }
    }
  });
}

async function submit(
  registry: RegistryConnection,
  training: TrainingClient,
  flags: FlagValues<typeof submitFlags>,
  deps: TrainingCommandDeps,
): Promise<string> {
  const id = await submitJob(registry, flags, deps.clock.now());
  if (!flags.wait && !flags.follow) {
    if (flags.json) return jobJson(await getJob(training, id));
    return `training job ${id} is submitted; machine-cloud training logs -f ${id} shows how it goes\n`;
  }
  if (!flags.json) await write(deps, `training job ${id} is submitted\n`);
  const onLine = (line: TrainingJobLogEntry) => write(deps, lineText(line, flags.json));
  return ended(
    await followJob(training, id, deps.clock, flags.follow ? onLine : undefined),
    flags.json,
  );
}

async function list(
  { organization }: RegistryConnection,
  training: TrainingClient,
  { status, json }: FlagValues<typeof listFlags>,
): Promise<string> {
  const { jobs } = await training.listTrainingJobs({
    organizationId: organization.id,
    status: status === undefined ? TrainingStatus.UNSPECIFIED : STATUSES[status],
  });
  return json ? jobs.map(jobJson).join("") : jobTable(jobs);
}

async function logs(
  training: TrainingClient,
  id: string,
  { follow, json }: FlagValues<typeof logsFlags>,
  deps: TrainingCommandDeps,
): Promise<string> {
  const onLine = (line: TrainingJobLogEntry) => write(deps, lineText(line, json));
  if (follow) return ended(await followJob(training, id, deps.clock, onLine), json);
  for await (const line of new JobLogReader(training, id).newLines()) await onLine(line);
  return "";
}

/** What to print at the end. Throws for a job that made no model: the command fails then. */
function ended(job: TrainingJobMetadata, json: boolean): string {
  const { id, status, errorStatus, syncedModelId, modelName, modelVersion } = job;
  if (status === TrainingStatus.COMPLETED) {
    if (json) return jobJson(job);
    return `training job ${id} made version ${modelVersion} of ${syncedModelId || modelName}\n`;
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
  throw new Error(`the cloud says nothing of the training job ${id}; ask it again`);
}

function lineText(line: TrainingJobLogEntry, json: boolean): string {
  return json ? `${JSON.stringify(toJson(TrainingJobLogEntrySchema, line))}\n` : logLine(line);
}

function jobJson(job: TrainingJobMetadata): string {
  return `${JSON.stringify(toJson(TrainingJobMetadataSchema, job))}\n`;
}

async function write({ write }: TrainingCommandDeps, text: string): Promise<void> {
  await write(new TextEncoder().encode(text));
}
