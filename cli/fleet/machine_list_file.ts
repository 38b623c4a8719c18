import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { CsvError, parse } from "csv-parse/sync";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { clientOf, type CommandContext, type Output } from "../../shared/commands/run/command.ts";
import {
  type CreatedMachine,
  EnrollmentService,
} from "../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { templateOf } from "./enrollment_commands.ts";

/** A row of the file. */
export interface ListedMachine {
  readonly name: string;
  readonly template: { readonly fragmentIds: string[]; readonly tags: string[] };
}

const COLUMNS: readonly string[] = ["name", "fragments", "tags"];
/** As many as the cloud makes in one call. */
const AT_ONCE = 200;

/**
 * Reads a list of machines: CSV with a heading, of which `name` is needed; `fragments` and `tags`
 * hold lists with `;` or, in quotes, commas.
 *
 * @throws {UsageError} with the line
 */
export function parseMachineList(text: string, file: string): ListedMachine[] {
  let rows: Record<string, string>[];
  try {
    rows = parse(text, {
      ...{ bom: true, skip_empty_lines: true, trim: true },
      columns: (heading: string[]) => checkedHeading(heading, file),
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UsageError(`${file}: ${error.message}`);
  }
  if (rows.length === 0) throw new UsageError(`${file}: there is no machine in it`);
  return rows.map(({ name = "", fragments = "", tags = "" }) => ({
    name,
    template: templateOf({
      fragments: fragments.replaceAll(";", ","),
      tags: tags.replaceAll(";", ","),
    }),
  }));
}

function checkedHeading(heading: readonly string[], file: string): string[] {
  const names = heading.map((one) => one.trim().toLowerCase());
  const unknown = names.find((one) => !COLUMNS.includes(one));
  if (unknown !== undefined || !names.includes("name")) {
    throw new UsageError(
      `${file}: the first line must name columns: name, and optionally fragments and tags` +
        (unknown === undefined ? "" : `; ${JSON.stringify(unknown)} is none of them`),
    );
  }
  return names;
}

/**
 * Makes the machines of a list in a location, some hundred at a time. Those that are there stay, so
 * that a list can be given again when something went wrong on the way.
 *
 * @param credentialsDir gets a credentials file for each machine, mode 0600; undefined: none
 */
export async function createListed(
  context: CommandContext,
  machines: readonly ListedMachine[],
  { locationId, credentialsDir }: {
    readonly locationId: string;
    readonly credentialsDir: string | undefined;
  },
): Promise<Output> {
  const client = await clientOf(context, EnrollmentService);
  const { name: address } = await context.cloud();
  if (credentialsDir !== undefined) {
    await Deno.mkdir(credentialsDir, { recursive: true, mode: 0o700 });
  }
  const all: CreatedMachine[] = [];
  for (let at = 0; at < machines.length; at += AT_ONCE) {
    const some = machines.slice(at, at + AT_ONCE);
    const { machines: done } = await client.createMachines({ locationId, machines: some })
      .catch((error) => {
        throw withRows(error, at);
      });
    for (const { machine } of credentialsDir === undefined ? [] : done) {
      const { machineName = "", partId: id = "", partSecret: secret = "" } = machine ?? {};
      const cloud = { app_address: address, id, secret };
      const path = join(credentialsDir ?? "", `${machineName}.json`);
      await writeFileAtomic(path, `${JSON.stringify({ cloud }, null, 2)}\n`, { mode: 0o600 });
    }
    all.push(...done);
  }
  const rows = all.map(({ machine, existed }) => [
    ...[machine?.machineId ?? "", machine?.machineName ?? "", existed ? "was there" : "made"],
  ]);
  return {
    json: all.map(({ machine, existed }) => ({
      id: machine?.machineId,
      name: machine?.machineName,
      part_id: machine?.partId,
      existed,
    })),
    text: textTable([["ID", "MACHINE", ""], ...rows], context.terminal.columns),
    ids: all.map(({ machine }) => machine?.machineId ?? ""),
  };
}

/** The cloud counts the machines of one call, people the rows of a file below its heading. */
function withRows(error: unknown, at: number): unknown {
  if (!(error instanceof ConnectError)) return error;
  const text = error.rawMessage.replace(
    /\bmachines\[(\d+)\]\.?(\w*)/g,
    (_, n: string, field: string) => `row ${at + Number(n) + 1}${field && `, ${field}`}`,
  );
  return new ConnectError(text, error.code, error.metadata, undefined, error);
}
