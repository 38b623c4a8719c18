import type { FlagTable } from "../../base/flags/flags.ts";

const commonFlags = {
  "machine": {
    type: "string",
    placeholder: "MACHINE",
    doc: "Id or name of the machine. Default: the one that has a trigger of the name.",
  },
  "part": {
    type: "string",
    placeholder: "PART",
    doc: "Id or name of the part, for machines with several.",
  },
} as const satisfies FlagTable;

export const setFlags = {
  ...commonFlags,
  "replaces": {
    type: "string",
    placeholder: "NAME",
    doc: "The trigger that this one replaces. Default: the one with the same name, if any.",
  },
} as const satisfies FlagTable;

export const previewFlags = {
  ...commonFlags,
  "file": {
    type: "string",
    placeholder: "FILE",
    doc: "A trigger as JSON that is not saved, in place of NAME; - for standard input.",
  },
  "days": {
    type: "integer",
    default: 7,
    min: 1,
    max: 365,
    doc: "Days back for which firings are counted, over the newest 100,000 readings at most.",
  },
  "limit": {
    type: "integer",
    default: 10,
    min: 1,
    max: 1000,
    doc: "Readings to show, newest first.",
  },
} as const satisfies FlagTable;

const deliveriesFlags = {
  ...commonFlags,
  "limit": {
    type: "integer",
    default: 20,
    min: 1,
    max: 500,
    doc: "How many to show, newest first.",
  },
} as const satisfies FlagTable;

const secretFlags = {
  ...commonFlags,
  "rotate": {
    type: "boolean",
    doc: "Make a new secret; the one before signs too for another 24 hours.",
  },
} as const satisfies FlagTable;

export const ownersFlags = {
  "machine": {
    type: "string",
    placeholder: "MACHINE",
    doc: "Owners of one machine, by id or name. Default: of the whole organisation.",
  },
  "location": {
    type: "string",
    placeholder: "LOCATION",
    doc: "Owners of a location, by id or name.",
  },
  "set": {
    type: "list",
    placeholder: "ADDRESSES",
    doc: "E-mail addresses with commas between them, in place of those before; `none` for none.",
  },
} as const satisfies FlagTable;

const nameArgument = { placeholder: "NAME", doc: "The trigger." };

/** The commands about triggers, for the program's table. */
export const triggerCommands = {
  "trigger list": { summary: "List triggers and what came of them.", flags: commonFlags },
  "trigger set": {
    summary: "Add a trigger to a machine's configuration, or replace one.",
    flags: setFlags,
    arguments: [{ placeholder: "FILE", doc: "The trigger as JSON; - for standard input." }],
  },
  "trigger delete": {
    summary: "Remove a trigger from a machine's configuration.",
    flags: commonFlags,
    arguments: [nameArgument],
  },
  "trigger preview": {
    summary: "Show how often a condition on data would have fired. Notifies nobody.",
    flags: previewFlags,
    arguments: [{ ...nameArgument, optional: true }],
  },
  "trigger test": {
    summary: "Send a sample to everybody whom a trigger notifies, and report the outcome.",
    flags: commonFlags,
    arguments: [nameArgument],
  },
  "trigger deliveries": {
    summary: "Show the notifications of a trigger and how they went.",
    flags: deliveriesFlags,
    arguments: [nameArgument],
  },
  "trigger replay": {
    summary: "Send a notification once more.",
    flags: {},
    arguments: [{ placeholder: "ID", doc: "Of the notification, as trigger deliveries shows it." }],
  },
  "trigger secret": {
    summary: "Print the secret with which receivers check that a webhook is genuine.",
    flags: secretFlags,
    arguments: [nameArgument],
  },
  "trigger owners": {
    summary: "Show or set the e-mail addresses that all_machine_owners stands for.",
    flags: ownersFlags,
  },
} as const;
