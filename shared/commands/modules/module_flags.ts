import type { FlagTable } from "../../base/flags/flags.ts";
import { PLATFORMS } from "../../registry/platforms.ts";

export const uploadFlags = {
  "name": {
    type: "string",
    placeholder: "ORG:NAME",
    doc: "The module, with the namespace, id or name of its organisation. Default: module_id in " +
      "meta.json.",
  },
  "version": {
    type: "string",
    required: true,
    placeholder: "VERSION",
    doc: "Version as 1.2.3 or 1.2.3-rc.1; each can be uploaded once for each platform.",
  },
  "platform": {
    type: "string",
    default: "any",
    choices: PLATFORMS,
    placeholder: "PLATFORM",
    doc: "What the module runs on.",
  },
  "entrypoint": {
    type: "string",
    placeholder: "PATH",
    doc: "Program in the archive that starts the module. Default: entrypoint in meta.json.",
  },
  "visibility": {
    type: "string",
    choices: ["private", "public", "public_unlisted"],
    placeholder: "WHO",
    doc: "Who may use it: the organisation, everybody, or everybody without it being listed. " +
      "Default: as it was, private for a new module.",
  },
} as const satisfies FlagTable;

export const removeFlags = {
  "name": {
    type: "string",
    required: true,
    placeholder: "ORG:NAME",
    doc: "The module.",
  },
  "version": {
    type: "string",
    placeholder: "VERSION",
    doc: "The version to remove, for all platforms. Default: the module with all its versions; " +
      "refused while machines use it.",
  },
} as const satisfies FlagTable;

/** The commands about modules, for the program's table. */
export const moduleCommands = {
  "module upload": {
    summary: "Upload a version of a module to the registry.",
    flags: uploadFlags,
    arguments: [{ placeholder: "FILE.tar.gz", doc: "The module, as a gzipped tar." }],
  },
  "module list": { summary: "List the modules of an organisation.", flags: {} },
  "module models": {
    summary: "List the models of a module; with --json the schemas of their attributes, too.",
    flags: {},
    arguments: [{ placeholder: "ORG:NAME", doc: "The module." }],
  },
  "module remove": {
    summary: "Remove a module or one of its versions, unless machines use it.",
    flags: removeFlags,
  },
  "module namespace": {
    summary: "Set what the ids of an organisation's modules begin with.",
    flags: {},
    arguments: [{ placeholder: "NAMESPACE", doc: "Lower-case letters, digits and `-`." }],
  },
} as const;
