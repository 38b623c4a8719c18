import type { FlagTable, FlagValues } from "../../../shared/base/flags/flags.ts";
import { PLATFORMS } from "../../registry/packages/platforms.ts";
import { placeFlags, readPlace } from "../../local/connection/place_flags.ts";
import type { RegistryPlace } from "./registry_connection.ts";

/** Which organisation, by what its ids begin with too. */
export const organizationFlag = {
  type: "string",
  placeholder: "ORG",
  doc: "Namespace, id or name of the organisation. Default: the only one there is.",
} as const;

/** How large an archive may be. */
export const limitFlag = {
  type: "integer",
  default: 2048,
  min: 1,
  max: 1024 * 1024,
  placeholder: "MIB",
  doc: "Largest file that --data takes; with --cloud the cloud's own limit counts.",
} as const;

export const uploadFlags = {
  ...placeFlags,
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
  "package-limit": limitFlag,
} as const satisfies FlagTable;

export const listFlags = { ...placeFlags, "org": organizationFlag } as const satisfies FlagTable;

export const removeFlags = {
  ...placeFlags,
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

export const namespaceFlags = {
  ...placeFlags,
  "org": organizationFlag,
} as const satisfies FlagTable;

/** The commands about modules, for the program's table. */
export const moduleCommands = {
  "module upload": {
    summary: "Upload a version of a module to the registry.",
    flags: uploadFlags,
    arguments: [{ placeholder: "FILE.tar.gz", doc: "The module, as a gzipped tar." }],
  },
  "module list": { summary: "List the modules of an organisation.", flags: listFlags },
  "module remove": {
    summary: "Remove a module or one of its versions.",
    flags: removeFlags,
  },
  "module namespace": {
    summary: "Set what the ids of an organisation's modules begin with.",
    flags: namespaceFlags,
    arguments: [{ placeholder: "NAMESPACE", doc: "Lower-case letters, digits and `-`." }],
  },
} as const;

/** What the flags say about where the registry is; some commands know no folder. */
export function placeOf(
  flags: Omit<FlagValues<typeof placeFlags>, "data"> & { readonly data?: string | undefined },
  organization: string | undefined,
  packageLimitMib = 2048,
): RegistryPlace {
  return {
    ...readPlace({ ...flags, data: flags.data }),
    organization: organization === "" ? undefined : organization,
    packageLimitBytes: packageLimitMib * 1024 * 1024,
  };
}
