import type { Transport } from "@connectrpc/connect";
import type { CommandTable, FlagTable, FlagValues } from "../../../shared/base/flags/flags.ts";
import type { CloudContext, Output } from "../../../shared/commands/run/command.ts";
import { withAdvice } from "./cloud_connection.ts";
import { placeFlags } from "./place_flags.ts";
import { withPlainFailures } from "./plain_failures.ts";

/** What commands take that work with a data folder or over the network. */
export const commonFlags = {
  ...placeFlags,
  "org": {
    type: "string",
    placeholder: "ORG",
    doc: "Id or name of the organisation, with --data. Default: the only one there is.",
  },
  "json": { type: "boolean", doc: "Everything, as lines of JSON." },
} as const satisfies FlagTable;

/** Commands with the options that say where they work. */
export type Placed<C extends CommandTable> = {
  readonly [K in keyof C]: Omit<C[K], "flags"> & {
    readonly flags: C[K]["flags"] & typeof commonFlags;
  };
};

/** Gives commands that know the API only the options that say where they work. */
export function placed<const C extends CommandTable>(commands: C): Placed<C> {
  const entries = Object.entries(commands).map(([name, spec]) =>
    [name, { ...spec, flags: { ...commonFlags, ...spec.flags } }] as const
  );
  return Object.fromEntries(entries) as unknown as Placed<C>;
}

/** A cloud that a command works with, wherever it is. */
export interface PlacedCloud extends AsyncDisposable {
  readonly transport: Transport;
  /** Address of the cloud; undefined for a data folder. */
  readonly url: string | undefined;
}

/** Runs a command of `shared/commands`. @returns what to print */
export function runPlaced(
  values: Pick<FlagValues<typeof commonFlags>, "json" | "data">,
  connect: () => Promise<PlacedCloud>,
  work: (context: CloudContext) => Promise<Output>,
): Promise<string> {
  return withPlainFailures(async () => {
    await using connection = await connect();
    const { transport, url } = connection;
    const unused = () => {
      throw new Error("only commands that take a profile do that");
    };
    const cloud = {
      ...{ transport, name: url ?? values.data ?? "" },
      ...{ download: unused, atMachine: unused },
    };
    const context: CloudContext = {
      program: "machine-cloud",
      // A folder was opened for one organisation, and a key belongs to one.
      organization: undefined,
      cloud: () => Promise.resolve(cloud),
    };
    try {
      return textOf(await work(context), values.json);
    } catch (error) {
      throw url === undefined ? error : withAdvice(error, url);
    }
  });
}

function textOf({ json, text }: Output, asJson: boolean): string {
  if (!asJson) return text;
  const all: readonly unknown[] = Array.isArray(json) ? json : [json];
  return all.map((one) => `${JSON.stringify(one)}\n`).join("");
}
