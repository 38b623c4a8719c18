import { type FlagTable, type FlagValues, UsageError } from "../../../shared/base/flags/flags.ts";

/** What every command of the API takes: where it works, on a data folder or over the network. */
export const placeFlags = {
  "data": {
    type: "string",
    placeholder: "DIR",
    doc: "Data folder of a cloud on this host, also of one that is serving.",
  },
  "cloud": {
    type: "string",
    placeholder: "URL",
    doc: "Address of the cloud, in place of --data; needs an API key.",
  },
  "key-id": {
    type: "string",
    placeholder: "ID",
    env: "MACHINE_CLOUD_API_KEY_ID",
    doc: "Id of the API key for --cloud.",
  },
  "key": {
    type: "string",
    placeholder: "KEY",
    env: "MACHINE_CLOUD_API_KEY",
    doc: "The API key itself; other users see it on a command line, not in the environment.",
  },
  "allow-insecure-creds": {
    type: "boolean",
    doc: "Send the API key over plaintext to another host.",
  },
  "org": {
    type: "string",
    placeholder: "ORG",
    doc: "Id, name or namespace of the organisation. Default: the only one there is.",
  },
  "package-limit": {
    type: "integer",
    default: 2048,
    min: 1,
    max: 1024 * 1024,
    placeholder: "MIB",
    doc: "Largest file that --data takes; with --cloud the cloud's own limit counts.",
  },
} as const satisfies FlagTable;

export type PlaceValues = FlagValues<typeof placeFlags>;

/** The one place that is named. @throws {UsageError} for both and for none */
export function chosenPlace(
  { data, cloud }: Pick<PlaceValues, "data" | "cloud">,
): { readonly dataDir: string } | { readonly url: string } {
  if (data !== undefined && cloud !== undefined) {
    throw new UsageError("--data and --cloud do not go together; give one of them");
  }
  if (cloud !== undefined) return { url: cloud };
  if (data !== undefined) return { dataDir: data };
  throw new UsageError(
    "name the cloud: --data DIR of one on this host, or --cloud URL with an API key",
  );
}
