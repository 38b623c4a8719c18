import type { FlagTable } from "../../base/flags/flags.ts";

const commonFlags = {
  "machine": {
    type: "string",
    placeholder: "MACHINE",
    doc: "Id or name of the machine. Default: the only one there is.",
  },
  "part": {
    type: "string",
    placeholder: "PART",
    doc: "Id or name of the part. Default: the machine's main part.",
  },
  "location": {
    type: "string",
    placeholder: "ID",
    doc: "Id or name of a location: its secrets in place of a part's.",
  },
} as const satisfies FlagTable;

/** The commands about secrets, for the program's table. */
export const secretCommands = {
  "secret list": {
    summary: "List the secrets of a part or a location by their ids, newest first.",
    flags: commonFlags,
  },
  "secret create": {
    summary: "Make a second secret, valid next to the first, and print it.",
    flags: commonFlags,
  },
  "secret delete": {
    summary: "Revoke a secret that has a successor, and every sign-in with it.",
    flags: commonFlags,
    arguments: [{ placeholder: "ID", doc: "Of the secret, as secret list shows it." }],
  },
} as const;
