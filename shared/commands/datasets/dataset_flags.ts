import type { FlagTable } from "../../base/flags/flags.ts";
import { fileFilterFlags } from "../data/data_flags.ts";

const datasetArgument = { placeholder: "DATASET", doc: "Id or name of the dataset." };

const createFlags = {
  "sequences": { type: "boolean", doc: "It holds spans of time of resources, and no files." },
} as const satisfies FlagTable;

const deleteFlags = {
  "yes": { type: "boolean", aliases: ["y"], doc: "Do it; refused without this." },
} as const satisfies FlagTable;

const mergeFlags = {
  "from": { type: "list", placeholder: "DATASET", doc: "One of them, by id or name." },
} as const satisfies FlagTable;

/** Which files or sequences come into a dataset, or out of it. */
export const contentFlags = {
  ...fileFilterFlags,
  "sequence": { type: "list", placeholder: "ID", doc: "This sequence, in a dataset of them." },
} as const satisfies FlagTable;

/** The commands about datasets, for the program's table. */
export const datasetCommands = {
  "dataset list": { summary: "List datasets and how many files they hold.", flags: {} },
  "dataset create": {
    summary: "Make a dataset.",
    flags: createFlags,
    arguments: [{ placeholder: "NAME", doc: "Its name." }],
  },
  "dataset rename": {
    summary: "Give a dataset another name.",
    flags: {},
    arguments: [datasetArgument, { placeholder: "NAME", doc: "The new name." }],
  },
  "dataset add": {
    summary: "Put files of machines, or sequences, into a dataset.",
    flags: contentFlags,
    arguments: [datasetArgument],
  },
  "dataset remove": {
    summary: "Take files or sequences out of a dataset; they themselves stay.",
    flags: contentFlags,
    arguments: [datasetArgument],
  },
  "dataset merge": {
    summary: "Make a new dataset of several; they stay.",
    flags: mergeFlags,
    arguments: [{ placeholder: "NAME", doc: "Name of the new one." }],
  },
  "dataset download": {
    summary: "Download the files of a dataset, or its sequences as one archive.",
    flags: {},
    arguments: [
      datasetArgument,
      { placeholder: "DIR", doc: "The folder; made when it is not there." },
    ],
  },
  "dataset delete": {
    summary: "Delete a dataset; the files in it stay.",
    flags: deleteFlags,
    arguments: [datasetArgument],
  },
} as const;
