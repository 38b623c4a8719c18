import { Code, ConnectError } from "@connectrpc/connect";
import type { MachineToCreate } from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import type { LocationRow, Scope } from "../../accounts/access/scope.ts";
import { machineNameProblem } from "../../api/names/names.ts";
import type { SavedHow } from "../../storage/database/schema.ts";
import { RecentDocuments } from "../configuration/recent_documents.ts";
import { createMachine } from "../machines/creation.ts";
import type { EnrollmentsOptions } from "./enrollments.ts";
import { readTemplate, requireUsable, type Template, templateConfig } from "./machine_template.ts";

/** Machines of one call: some hundred milliseconds. */
const MOST_AT_ONCE = 200;
const REPORTED_PROBLEMS = 20;

interface Wanted {
  readonly name: string;
  readonly template: Template;
}

/**
 * Makes machines in a location, all or none; one whose name is there stays as it is.
 *
 * @throws {ConnectError} INVALID_ARGUMENT with every machine that is wrong
 */
export async function createMachines(
  { transact, queries, changed, clock, random }: EnrollmentsOptions,
  scope: Scope,
  location: LocationRow,
  machines: readonly MachineToCreate[],
  how: SavedHow,
): Promise<{ machineId: string; existed: boolean }[]> {
  if (machines.length === 0 || machines.length > MOST_AT_ONCE) {
    throw new ConnectError(
      `machines: ${machines.length} are named; 1 to ${MOST_AT_ONCE} are made at once`,
      Code.InvalidArgument,
    );
  }
  const wanted = await checked(scope, machines);
  // One template makes many machines with one text.
  const documents = new RecentDocuments();
  for (const template of distinct(wanted.map((one) => one.template))) {
    await requireUsable(queries, location.org_id, template, documents);
  }
  const all = await transact(async (transaction) => {
    const there = await transaction.selectFrom("machines").select(["id", "name"])
      .where("location_id", "=", location.id)
      .where("name", "in", wanted.map(({ name }) => name)).execute();
    const ids = new Map(there.map(({ id, name }) => [name, id]));
    const done = [];
    for (const { name, template } of wanted) {
      const known = ids.get(name);
      const { machineId } = known === undefined
        ? await createMachine(
          { queries: transaction, random, now: clock.now() },
          {
            ...{ orgId: location.org_id, locationId: location.id, name },
            config: await templateConfig(transaction, location.org_id, template),
          },
          { actor: scope.caller.actor, how, documents },
        )
        : { machineId: known };
      done.push({ machineId, existed: known !== undefined });
    }
    return done;
  });
  changed.add(
    location.org_id,
    ...all.filter(({ existed }) => !existed).map((one) => one.machineId),
  );
  return all;
}

async function checked(scope: Scope, machines: readonly MachineToCreate[]): Promise<Wanted[]> {
  const problems: string[] = [];
  const names = new Set<string>();
  const wanted: Wanted[] = [];
  for (const [index, { name, template }] of machines.entries()) {
    const at = `machines[${index}]`;
    const problem = machineNameProblem(name) ?? (names.has(name) ? "it is named twice" : undefined);
    if (problem) problems.push(`${at}.name: ${JSON.stringify(name)}: ${problem}`);
    names.add(name);
    try {
      wanted.push({ name, template: await readTemplate(scope, `${at}.template`, template) });
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      problems.push(`${at}: ${error.rawMessage}`);
    }
  }
  if (problems.length === 0) return wanted;
  const more = problems.length - REPORTED_PROBLEMS;
  throw new ConnectError(
    `no machine was made: ${problems.slice(0, REPORTED_PROBLEMS).join("; ")}` +
      (more > 0 ? `; and ${more} more` : ""),
    Code.InvalidArgument,
  );
}

function distinct(templates: readonly Template[]): Template[] {
  return [...new Map(templates.map((one) => [JSON.stringify(one), one])).values()];
}
