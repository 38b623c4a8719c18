import type { FlagTable } from "../../base/flags/flags.ts";

/** As clouds know them. */
const FORMATS = ["csv", "jsonl", "parquet"] as const;

const partFlag = {
  type: "string",
  placeholder: "PART",
  doc: "Id or name of the part. Default: any.",
} as const;

const spanFlags = {
  "from": {
    type: "string",
    placeholder: "TIME",
    doc: "Captured since then, as 2026-01-02 or 2026-01-02T03:04:05Z. Default: all.",
  },
  "to": { type: "string", placeholder: "TIME", doc: "Captured before then. Default: all." },
} as const satisfies FlagTable;

/** Which files of machines: all that fit everything that is given. */
export const fileFilterFlags = {
  "machine": { type: "string", placeholder: "MACHINE", doc: "Of this machine, by id or name." },
  "part": { type: "string", placeholder: "PART", doc: "Of this part, by id or name." },
  "resource": { type: "string", placeholder: "NAME", doc: "Captured by this resource." },
  ...spanFlags,
  "tag": { type: "list", placeholder: "TAG", doc: "With this tag; several: with one of them." },
  "mime-type": { type: "list", placeholder: "TYPE", doc: "Of this type, as image/jpeg." },
  "in-dataset": { type: "string", placeholder: "DATASET", doc: "In this dataset, by id or name." },
  "id": { type: "list", placeholder: "ID", doc: "This file, in place of all the rest." },
} as const satisfies FlagTable;

export const exportFlags = {
  "part": partFlag,
  "resource": {
    type: "string",
    required: true,
    placeholder: "NAME",
    doc: "Name of the component or service that was captured.",
  },
  "method": {
    type: "string",
    default: "Readings",
    placeholder: "NAME",
    doc: "The method that was captured.",
  },
  ...spanFlags,
  "format": {
    type: "string",
    default: "csv",
    choices: FORMATS,
    placeholder: "FORMAT",
    doc: "csv, jsonl (a JSON object a line) or parquet.",
  },
  "out": {
    type: "string",
    placeholder: "FILE",
    doc: "Where to write; it is there whole or not at all. Default: standard output.",
  },
} as const satisfies FlagTable;

export const sourcesFlags = { "part": partFlag } as const satisfies FlagTable;

export const settingsFlags = {
  "retention-days": {
    type: "string",
    placeholder: "DAYS",
    doc: "Delete data so many days after its arrival; `forever` keeps it.",
  },
  "archive-after-days": {
    type: "string",
    placeholder: "DAYS",
    doc: "Move readings to Parquet files so many days after their capture; `never` leaves them.",
  },
  "quota-mib": {
    type: "string",
    placeholder: "MIB",
    doc: "Take no more data than this; `none` takes all.",
  },
} as const satisfies FlagTable;

export const queryFlags = {
  "mql": { type: "boolean", doc: "QUERY is MQL: a JSON list of stages." },
} as const satisfies FlagTable;

export const filesFlags = {
  ...fileFilterFlags,
  "limit": {
    type: "integer",
    default: 50,
    min: 1,
    max: 100_000,
    doc: "How many to show, newest first.",
  },
} as const satisfies FlagTable;

const yesFlag = {
  type: "boolean",
  aliases: ["y"],
  doc: "Do it; without this it only reports how much would be deleted.",
} as const;

export const deleteFilesFlags = { ...fileFilterFlags, "yes": yesFlag } as const satisfies FlagTable;

export const deleteReadingsFlags = {
  "part": partFlag,
  "resource": { type: "string", placeholder: "NAME", doc: "Captured by this one. Default: any." },
  "older-than-days": {
    type: "integer",
    required: true,
    min: 0,
    max: 100_000,
    doc: "Those that arrived so many days ago or before; 0 for all.",
  },
  "yes": { type: "boolean", aliases: ["y"], doc: "Do it; refused without this." },
} as const satisfies FlagTable;

/** The commands about captured data, for the program's table. */
export const dataCommands = {
  "data sources": {
    summary: "List what machines have captured: methods of components, and since when.",
    flags: sourcesFlags,
  },
  "data export": { summary: "Write readings to a file.", flags: exportFlags },
  "data query": {
    summary: "Ask a question about readings in SQL or MQL.",
    flags: queryFlags,
    arguments: [{ placeholder: "QUERY", doc: "The query; - for standard input." }],
    footer: 'Example: data query "SELECT time_received, data FROM readings ORDER BY ' +
      'time_received DESC LIMIT 5"',
  },
  "data files": { summary: "List images and other files of machines.", flags: filesFlags },
  "data download": {
    summary: "Download files of machines into a folder; those that are there are left out.",
    flags: fileFilterFlags,
    arguments: [{ placeholder: "DIR", doc: "The folder; made when it is not there." }],
  },
  "data delete-files": { summary: "Delete files of machines.", flags: deleteFilesFlags },
  "data delete-readings": { summary: "Delete old readings.", flags: deleteReadingsFlags },
  "data settings": {
    summary: "Show or set how long an organisation keeps data, and how much.",
    flags: settingsFlags,
  },
} as const;
