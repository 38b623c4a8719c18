import { Code, ConnectError } from "@connectrpc/connect";
import {
  ModelFramework,
  ModelType,
  type SubmitCustomTrainingJobRequest,
  type SubmitTrainingJobRequest,
  TrainingStatus,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { splitAtFirst } from "../../accounts/access/scope.ts";
import type { TrainingState } from "../../storage/database/training_schema.ts";
import { itemNameProblem } from "../../../shared/registry/item_rules.ts";
import {
  requireGiven,
  requireItemName,
  requireItemVersion,
  requireValid,
} from "../../registry/packages/names.ts";
import type { TrainingContainer } from "../runs/runner.ts";
import { stateOfNumber } from "./job_messages.ts";

/** Stands for the newest version of a script. */
export const LATEST = "latest";

const MOST_TAGS = 200;
const LONGEST_TAG = 1_024;
const MOST_ARGUMENTS = 100;
const LONGEST_KEY = 100;
/** Of all values of one job together, characters. */
const LONGEST_VALUES = 32 * 1024;
/** What the cloud itself gives a script. */
const OWN_ARGUMENTS = ["dataset_file", "model_output_directory"];
const MODEL_TYPES = [
  ModelType.SINGLE_LABEL_CLASSIFICATION,
  ModelType.MULTI_LABEL_CLASSIFICATION,
  ModelType.OBJECT_DETECTION,
];

/**
 * Checks the form of everything but the organisation, in the order of the fields in the
 * documentation. Throws INVALID_ARGUMENT that names the first field that is wrong.
 */
export function checkManagedRequest(request: SubmitTrainingJobRequest): void {
  requireGiven("dataset_id", request.datasetId);
  checkModel(request);
  requireValid("model_type", modelTypeProblem(request.modelType));
  checkTags(request.tags);
  requireValid("model_framework", frameworkProblem(request.modelFramework));
}

/** The same for a job with a script of the registry. */
export function checkCustomRequest(
  request: SubmitCustomTrainingJobRequest,
  containers: readonly TrainingContainer[],
): void {
  requireGiven("dataset_id", request.datasetId);
  const { registryItemId, registryItemVersion } = request;
  requireGiven("registry_item_id", registryItemId);
  requireValid("registry_item_id", scriptIdProblem(registryItemId));
  requireGiven("registry_item_version", registryItemVersion);
  if (registryItemVersion !== LATEST) {
    requireItemVersion("registry_item_version", registryItemVersion, "ml_training");
  }
  checkModel(request);
  const [, scriptName] = splitAtFirst(registryItemId, ":");
  requireValid(
    "model_name",
    request.modelName === scriptName
      ? `${JSON.stringify(scriptName)} is the name of the training script; model and script need ` +
        "different names"
      : undefined,
    "NAME_TAKEN",
    { name: scriptName },
  );
  checkArguments(request.arguments);
  requireValid("container_version", containerProblem(request.containerVersion, containers));
  requireValid("container_id", containerProblem(request.containerId, containers));
  const { containerVersion, containerId } = request;
  const differ = containerVersion !== "" && containerId !== "" && containerVersion !== containerId;
  requireValid("container_id", differ ? "container_version names another one" : undefined);
}

/** The state that a list is restricted to; undefined: it is not. Throws INVALID_ARGUMENT. */
export function checkedStatus(status: TrainingStatus): TrainingState | undefined {
  if (status === TrainingStatus.UNSPECIFIED) return undefined;
  const state = stateOfNumber(status);
  if (state) return state;
  throw new ConnectError(
    `status: ${status} is no status of a training job; allowed are ` +
      `${enumNames(TrainingStatus, "TRAINING_STATUS_")}`,
    Code.InvalidArgument,
  );
}

function checkModel({ modelName, modelVersion }: { modelName: string; modelVersion: string }) {
  requireGiven("model_name", modelName);
  requireItemName("model_name", modelName);
  requireGiven("model_version", modelVersion);
  requireItemVersion("model_version", modelVersion, "ml_model");
}

function modelTypeProblem(type: ModelType): string | undefined {
  if (MODEL_TYPES.includes(type)) return undefined;
  const allowed = `allowed are ${enumNames(ModelType, "MODEL_TYPE_")}`;
  return type === ModelType.UNSPECIFIED
    ? `it is missing; ${allowed}`
    : `${type} is none; ${allowed}`;
}

function frameworkProblem(framework: ModelFramework): string | undefined {
  const isTfLite = framework === ModelFramework.TFLITE;
  if (isTfLite || framework === ModelFramework.UNSPECIFIED) return undefined;
  const name = ModelFramework[framework] ?? framework;
  return `only TFLite models are trained here (MODEL_FRAMEWORK_TFLITE, or leave it out), not ` +
    `${name}; for others submit a custom job with a training script of your own`;
}

function checkTags(tags: readonly string[]): void {
  const none = tags.length === 0 ? "there are none; name the labels to train on" : undefined;
  requireValid("tags", none, "LABELS_FEW", { least: 1 });
  const many = tags.length > MOST_TAGS ? `there are more than ${MOST_TAGS}` : undefined;
  requireValid("tags", many, "TOO_MANY", { most: MOST_TAGS });
  tags.forEach((tag, at) => {
    const problem = tagProblem(tag, tags.indexOf(tag) < at);
    requireValid(`tags[${at}]`, problem, "LABEL_INVALID", { label: tag, most: LONGEST_TAG });
  });
}

function tagProblem(tag: string, isRepeated: boolean): string | undefined {
  if (tag.trim() === "") return "it is empty; name a label";
  if (isRepeated) return `${JSON.stringify(tag)} is there twice`;
  if (tag.length > LONGEST_TAG) return `it is longer than ${LONGEST_TAG} characters`;
  // Models list their labels one a line.
  return /\p{Cc}/u.test(tag) ? `${JSON.stringify(tag)} has a control character` : undefined;
}

function scriptIdProblem(id: string): string | undefined {
  const [prefix, name] = splitAtFirst(id, ":");
  if (prefix !== "" && itemNameProblem(name) === undefined) return undefined;
  return `${JSON.stringify(id)} has not the form namespace:name, with the namespace or the id of ` +
    "the organization that has the script";
}

function checkArguments(given: Readonly<Record<string, string>>): void {
  const entries = Object.entries(given).toSorted(([a], [b]) => a < b ? -1 : 1);
  requireValid(
    "arguments",
    entries.length > MOST_ARGUMENTS ? `there are more than ${MOST_ARGUMENTS}` : undefined,
    "TOO_MANY",
    { most: MOST_ARGUMENTS },
  );
  for (const [key, value] of entries) {
    requireValid("arguments", argumentProblem(key, value), "ARGUMENT_INVALID", { key });
  }
  const characters = entries.reduce((sum, [, value]) => sum + value.length, 0);
  const tooLong = `the values have more than ${LONGEST_VALUES} characters together`;
  requireValid(
    "arguments",
    characters > LONGEST_VALUES ? tooLong : undefined,
    "TOO_LONG",
    { most: LONGEST_VALUES },
  );
}

function argumentProblem(key: string, value: string): string | undefined {
  const found = JSON.stringify(key);
  if (key.length > LONGEST_KEY) return `a key is longer than ${LONGEST_KEY} characters`;
  if (!/^[a-zA-Z0-9_-]+$/.test(key)) {
    return `${found} is no key; allowed are letters, digits, - and _`;
  }
  if (OWN_ARGUMENTS.includes(key)) return `${found} is what the cloud itself gives each script`;
  return value.includes("\0") ? `the value of ${found} has a zero character` : undefined;
}

function containerProblem(
  key: string,
  containers: readonly TrainingContainer[],
): string | undefined {
  if (key === "" || containers.some((container) => container.key === key)) return undefined;
  const known = containers.map((container) => container.key).join(", ") || "none";
  return `there is no container ${
    JSON.stringify(key)
  }; there are: ${known}. Leave it out for the ` +
    "usual one";
}

/** The names of all values but UNSPECIFIED, with their numbers. */
function enumNames(values: Readonly<Record<string, string | number>>, prefix: string): string {
  return Object.entries(values)
    .filter(([, value]) => typeof value === "number" && value !== 0)
    .map(([name, value]) => `${prefix}${name} (${value})`).join(", ");
}
