import type { FlagTable } from "../../../shared/base/flags/flags.ts";
import { FORMATS } from "../../data/export/format_names.ts";
import { placeFlags } from "../../local/connection/place_flags.ts";

const commonFlags = {
  ...placeFlags,
  "org": {
    type: "string",
    placeholder: "ORG",
    doc: "Id or name of the organisation, with --data. Default: the only one there is.",
  },
} as const satisfies FlagTable;

const partFlag = {
  type: "string",
  placeholder: "PART",
  doc: "Id or name of the part. Default: any.",
} as const;

export const exportFlags = {
  ...commonFlags,
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
  "from": {
    type: "string",
    placeholder: "TIME",
    doc: "Readings since then, as 2026-01-02 or 2026-01-02T03:04:05Z. Default: all.",
  },
  "to": { type: "string", placeholder: "TIME", doc: "Readings before then. Default: all." },
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

export const sourcesFlags = { ...commonFlags, "part": partFlag } as const satisfies FlagTable;

export const settingsFlags = {
  ...commonFlags,
  "retention-days": {
    type: "string",
    placeholder: "DAYS",
    doc: "Delete data so many days after its arrival; `forever` keeps it.",
  },
  "quota-mib": {
    type: "string",
    placeholder: "MIB",
    doc: "Take no more data than this; `none` takes all.",
  },
} as const satisfies FlagTable;

/** The commands about captured data, for the program's table. */
export const dataCommands = {
  "data sources": {
    summary: "List what machines have captured: methods of components, and since when.",
    flags: sourcesFlags,
  },
  "data export": { summary: "Write readings to a file.", flags: exportFlags },
  "data settings": {
    summary: "Show or set how long an organisation keeps data, and how much.",
    flags: settingsFlags,
  },
} as const;
