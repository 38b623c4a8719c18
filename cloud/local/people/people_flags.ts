import type { FlagTable } from "../../../shared/base/flags/flags.ts";

const dataFlags = {
  "data": {
    type: "string",
    required: true,
    placeholder: "DIR",
    doc: "Data folder of a cloud on this host, also of one that is serving.",
  },
  "public-url": {
    type: "string",
    placeholder: "URL",
    doc: "Where the cloud is reached, for the link. Default: where it serves or served last.",
  },
} as const satisfies FlagTable;

const orgFlag = {
  type: "string",
  placeholder: "ORG",
  doc: "Id or name of the organisation. Default: the only one there is.",
} as const;

const EMAIL = { placeholder: "EMAIL", doc: "The person's e-mail address." } as const;

/** Commands about people, for who has the data folder and needs no session. */
export const peopleCommands = {
  "owner add": {
    summary: "Make somebody owner of an organisation; print a link to set a password where needed.",
    flags: { ...dataFlags, "org": orgFlag },
    arguments: [EMAIL],
  },
  "sign-in-link": {
    summary: "Print a link that signs a person in once, within an hour.",
    flags: dataFlags,
    arguments: [EMAIL],
  },
  "reset-password": {
    summary: "Print a link with which a person sets a new password, within a day.",
    flags: {
      ...dataFlags,
      "remove-second-factor": {
        type: "boolean",
        doc: "Take the second factor away, too: for who lost the device and the recovery codes.",
      },
    },
    arguments: [EMAIL],
  },
  "invitation link": {
    summary: "Print a new link for somebody who is invited; links sent before are revoked.",
    flags: { ...dataFlags, "org": orgFlag },
    arguments: [EMAIL],
  },
} as const;
