import { type FlagTable, type FlagValues, UsageError } from "../../../shared/base/flags/flags.ts";

/** Where a command works: on the data folder of a cloud, or over the network. */
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
    doc: "Send the API key over plaintext to another computer.",
  },
} as const satisfies FlagTable;

/** Where to work; either a folder or a cloud. */
export interface Place {
  readonly dataDir: string | undefined;
  readonly cloudUrl: string | undefined;
  readonly keyId: string | undefined;
  readonly key: string | undefined;
  /** Send the key over plaintext to another computer. */
  readonly allowInsecure: boolean;
}

/** What the flags say about where to work. */
export function readPlace(flags: FlagValues<typeof placeFlags>): Place {
  return {
    dataDir: flags.data,
    cloudUrl: flags.cloud,
    keyId: flags["key-id"],
    key: flags.key,
    allowInsecure: flags["allow-insecure-creds"],
  };
}

/**
 * The one of the two that is told. Throws a UsageError for both and for none.
 *
 * @param what is there: `the registry is`
 */
export function chosenPlace(
  { dataDir, cloudUrl }: Place,
  what: string,
): { readonly dataDir: string } | { readonly cloudUrl: string } {
  if (dataDir !== undefined && cloudUrl !== undefined) {
    throw new UsageError("--data and --cloud do not go together; give one of them");
  }
  if (cloudUrl !== undefined) return { cloudUrl };
  if (dataDir !== undefined) return { dataDir };
  throw new UsageError(
    `say where ${what}: --data DIR of a cloud on this host, or --cloud URL with an API key`,
  );
}
