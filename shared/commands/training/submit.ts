import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import {
  MLTrainingService,
  ModelFramework,
  ModelType,
} from "../../gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { splitItemId } from "../../registry/item_rules.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { chooseDataset } from "../choice/dataset.ts";
import { clientOf, type CommandContext } from "../run/command.ts";
import type { MODEL_TYPE_NAMES, submitFlags } from "./training_flags.ts";

type SubmitFlags = FlagValues<typeof submitFlags>;

/** The types of models by what the command line calls them. */
export const MODEL_TYPES: Readonly<Record<typeof MODEL_TYPE_NAMES[number], ModelType>> = {
  "single-label": ModelType.SINGLE_LABEL_CLASSIFICATION,
  "multi-label": ModelType.MULTI_LABEL_CLASSIFICATION,
  "object-detection": ModelType.OBJECT_DETECTION,
};

/** What a job trains with. */
export type Training =
  | { readonly kind: "managed"; readonly modelType: ModelType; readonly tags: readonly string[] }
  | {
    readonly kind: "custom";
    /** With or without the organisation in front. */
    readonly script: string;
    readonly version: string;
    readonly arguments: Readonly<Record<string, string>>;
    readonly container: string;
  };

/** What the flags request. @throws {UsageError} for flags that do not go together. */
export function readTraining(flags: SubmitFlags): Training {
  const { type, script } = flags;
  if (type !== undefined && script !== undefined) {
    throw new UsageError(
      "--type and --script do not go together: --type trains with the script that comes with " +
        "the cloud, --script with one of yours; give one of them",
    );
  }
  if (type !== undefined) {
    requireNone(flags, ["script-version", "container"], "--script");
    if (flags.arg.length > 0) throw belongsTo("arg", "--script");
    const tags = (flags.tags ?? "").split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
    if (tags.length === 0) {
      throw new UsageError(`--type ${type} needs --tags A,B: the labels that the model learns`);
    }
    return { kind: "managed", modelType: MODEL_TYPES[type], tags };
  }
  if (script === undefined) {
    throw new UsageError(
      "choose how to train: --type with --tags for the script that comes with the cloud, or " +
        "--script ORG:NAME for one of yours",
    );
  }
  requireNone(flags, ["tags"], "--type");
  const { container = "", "script-version": version = "latest" } = flags;
  return { kind: "custom", script, version, arguments: readArguments(flags.arg), container };
}

/** Puts a job into the queue. @returns its id */
export async function submitJob(
  context: CommandContext,
  flags: SubmitFlags,
): Promise<string> {
  const training = readTraining(flags);
  const organization = await chooseOrganization(context);
  const model = {
    organizationId: organization.id,
    datasetId: (await chooseDataset(context, organization.id, flags.dataset)).id,
    modelName: flags.model,
    modelVersion: flags["model-version"] ?? versionOfTime(context.clock.now()),
  };
  const client = await clientOf(context, MLTrainingService);
  if (training.kind === "managed") {
    const { modelType, tags } = training;
    const modelFramework = ModelFramework.TFLITE;
    const asked = { ...model, modelType, modelFramework, tags: [...tags] };
    return (await client.submitTrainingJob(asked)).id;
  }
  const [prefix] = splitItemId(training.script);
  const own = organization.publicNamespace || organization.id;
  const { id } = await client.submitCustomTrainingJob({
    ...model,
    registryItemId: prefix === "" ? `${own}:${training.script.replace(/^:/, "")}` : training.script,
    registryItemVersion: training.version,
    arguments: training.arguments,
    containerVersion: training.container,
  });
  return id;
}

/** `2006-01-02T15-04-05` in local time: a version that comes after those of before. */
export function versionOfTime(now: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("-");
  return `${day}T${[now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join("-")}`;
}

function readArguments(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(given.map((text) => {
    const at = text.indexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw new UsageError(`--arg: ${JSON.stringify(text)} has not the form KEY=VALUE`);
  }));
}

function requireNone(
  flags: SubmitFlags,
  names: readonly ("tags" | "script-version" | "container")[],
  owner: string,
): void {
  const wrong = names.find((name) => flags[name] !== undefined);
  if (wrong !== undefined) throw belongsTo(wrong, owner);
}

function belongsTo(name: string, owner: string): UsageError {
  return new UsageError(`--${name} goes with ${owner} only; leave it out, or give ${owner}`);
}
