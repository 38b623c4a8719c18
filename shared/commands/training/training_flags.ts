import type { FlagTable } from "../../base/flags/flags.ts";

export const MODEL_TYPE_NAMES = ["single-label", "multi-label", "object-detection"] as const;
export const FRAMEWORK_NAMES = ["tflite", "tensorflow", "pytorch", "onnx"] as const;
export const STATUS_NAMES = [
  "pending",
  "in-progress",
  "completed",
  "failed",
  "canceling",
  "canceled",
] as const;

export const submitFlags = {
  "dataset": {
    type: "string",
    required: true,
    placeholder: "DATASET",
    doc: "Name or id of the dataset to learn from.",
  },
  "model": {
    type: "string",
    required: true,
    placeholder: "NAME",
    doc: "Name of the model that comes out, a package of the organisation.",
  },
  "model-version": {
    type: "string",
    placeholder: "VERSION",
    doc: "Its version, never used before. Default: the time now, as 2006-01-02T15-04-05.",
  },
  "type": {
    type: "string",
    choices: MODEL_TYPE_NAMES,
    placeholder: "TYPE",
    doc: "Train with the script that comes with the cloud, for one label an image, several, " +
      "or boxes.",
  },
  "tags": {
    type: "string",
    placeholder: "A,B",
    doc: "With --type: the labels to learn, with commas between them.",
  },
  "script": {
    type: "string",
    placeholder: "ORG:NAME",
    doc: "Train with this script, in place of --type. Without ORG: one of your own.",
  },
  "script-version": {
    type: "string",
    placeholder: "VERSION",
    doc: "With --script: which one. Default: the newest.",
  },
  "arg": {
    type: "list",
    placeholder: "KEY=VALUE",
    doc: "With --script: the script gets --KEY=VALUE.",
  },
  "container": {
    type: "string",
    placeholder: "KEY",
    doc: "With --script: what it runs in, as `training containers` lists them.",
  },
  "wait": {
    type: "boolean",
    doc: "Wait until the job has finished; exit with 1 when it made no model.",
  },
  "follow": { type: "boolean", aliases: ["f"], doc: "The same, and show what the job writes." },
} as const satisfies FlagTable;

export const listFlags = {
  "status": {
    type: "string",
    choices: STATUS_NAMES,
    placeholder: "STATUS",
    doc: "Only jobs that are in it.",
  },
} as const satisfies FlagTable;

export const logsFlags = {
  "follow": {
    type: "boolean",
    aliases: ["f"],
    doc: "Wait until the job has finished; exit with 1 when it made no model.",
  },
} as const satisfies FlagTable;

export const uploadFlags = {
  "name": {
    type: "string",
    required: true,
    placeholder: "NAME",
    doc: "The script; it is made when the organisation has none of that name.",
  },
  "version": {
    type: "string",
    placeholder: "VERSION",
    doc: "Version, never used before. Default: milliseconds since 1970.",
  },
  "type": {
    type: "string",
    choices: MODEL_TYPE_NAMES,
    placeholder: "TYPE",
    doc: "What its models predict. Default: as it was, nothing for a new script.",
  },
  "framework": {
    type: "string",
    choices: FRAMEWORK_NAMES,
    placeholder: "NAME",
    doc: "What its models are made with. Default: as it was, nothing for a new script.",
  },
  "description": {
    type: "string",
    placeholder: "TEXT",
    doc: "What the script does; a public one needs it. Default: as it was.",
  },
  "url": { type: "string", placeholder: "URL", doc: "Where to read more. Default: as it was." },
  "visibility": {
    type: "string",
    choices: ["private", "public", "public_unlisted"],
    placeholder: "WHO",
    doc: "Who may use it: the organisation, everybody, or everybody without it being listed. " +
      "Default: as it was, private for a new script.",
  },
  "draft": { type: "boolean", doc: "Mark it as not ready for others yet." },
} as const satisfies FlagTable;

const jobArgument = { placeholder: "ID", doc: "The training job." };

/** The commands about training, for the program's table. */
export const trainingCommands = {
  "training submit": { summary: "Train a model from a dataset.", flags: submitFlags },
  "training list": { summary: "List training jobs, newest first.", flags: listFlags },
  "training get": {
    summary: "Show a training job.",
    flags: {},
    arguments: [jobArgument],
  },
  "training logs": {
    summary: "Show what a training job wrote; kept for 7 days after it has finished.",
    flags: logsFlags,
    arguments: [jobArgument],
  },
  "training cancel": {
    summary: "Stop a training job that waits or runs.",
    flags: {},
    arguments: [jobArgument],
  },
  "training delete": {
    summary: "Delete a training job that has finished; its model stays.",
    flags: {},
    arguments: [jobArgument],
  },
  "training containers": {
    summary: "List what scripts can run in.",
    flags: {},
  },
  "training-script upload": {
    summary: "Upload a version of a training script.",
    flags: uploadFlags,
    arguments: [{
      placeholder: "DIR",
      doc: "Folder with setup.py and model/training.py, or a .tar.gz of it.",
    }],
  },
  "training-script list": {
    summary: "List the training scripts of an organisation.",
    flags: {},
  },
} as const;
