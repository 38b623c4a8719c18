import { UsageError } from "../../base/flags/flags.ts";
import { nearestName } from "../../base/flags/nearest.ts";
import { AppService, type MachineSummary, type PartSummary } from "../../gen/viam/app/v1/app_pb.ts";
import { clientOf, type CloudContext } from "../run/command.ts";
import { chooseOrganization } from "./organization.ts";

/** A machine of the fleet. */
export interface ChosenMachine {
  readonly id: string;
  readonly name: string;
  readonly locationId: string;
  readonly locationName: string;
  readonly parts: readonly PartSummary[];
}

/** A part and the machine that it belongs to. */
export interface ChosenPart {
  readonly id: string;
  readonly name: string;
  readonly machineId: string;
  readonly machineName: string;
}

/** What options say of a part: ids or names. */
export interface WantedMachine {
  readonly machine?: string | undefined;
  readonly part?: string | undefined;
}

/** Of commands about one part. */
export const partArgument = {
  placeholder: "PART",
  doc: "Id or name of a part, MACHINE:PART, or a machine, which stands for its main part.",
};

/** As many as the API gives at once. */
const MOST_MACHINES = 10_000;

/** All machines of the organisation that the caller may see, by location and name. */
export async function listMachines(
  context: CloudContext,
  locationIds: readonly string[] = [],
): Promise<ChosenMachine[]> {
  const { id: organizationId } = await chooseOrganization(context);
  const app = await clientOf(context, AppService);
  const { locationSummaries } = await app.listMachineSummaries({
    organizationId,
    locationIds: [...locationIds],
    limit: MOST_MACHINES,
  });
  return locationSummaries.flatMap(({ locationId, locationName, machineSummaries }) =>
    machineSummaries.map((machine) => machineOf(machine, locationId, locationName))
  );
}

function machineOf(
  { machineId: id, machineName: name, partSummaries: parts }: MachineSummary,
  locationId: string,
  locationName: string,
): ChosenMachine {
  return { id, name, locationId, locationName, parts };
}

/** The one machine of an id or name. @throws {UsageError} that says which fit, or what is near */
export async function chooseMachine(
  context: CloudContext,
  wanted: string,
): Promise<ChosenMachine> {
  const machines = await listMachines(context);
  const byId = machines.find(({ id }) => id === wanted);
  if (byId) return byId;
  const named = machines.filter(({ name }) => name === wanted);
  const [only] = named;
  if (only && named.length === 1) return only;
  if (only) {
    const all = named.map(({ id, locationName }) => `${id} (in ${locationName})`).join(", ");
    throw new UsageError(`several machines are called ${JSON.stringify(wanted)}: ${all}`);
  }
  throw nothing("machine", wanted, machines.map(({ name }) => name), context);
}

/**
 * The part that a text stands for: its id or name, `MACHINE:PART`, or a machine by its id or name,
 * which stands for its main part.
 *
 * @throws {UsageError} that says which fit, or what is near
 */
export async function findPart(context: CloudContext, wanted: string): Promise<ChosenPart> {
  const parts = partsOf(await listMachines(context));
  const byId = parts.find(({ id }) => id === wanted);
  if (byId) return byId;
  const at = wanted.indexOf(":");
  const [machine, part] = at < 0 ? [wanted] : [wanted.slice(0, at), wanted.slice(at + 1)];
  const isMachine = ({ machineId, machineName }: ListedPart) =>
    machineId === machine || machineName === machine;
  const fitting = part !== undefined
    ? parts.filter((each) => isMachine(each) && (each.name === part || each.id === part))
    : parts.filter((each) => (isMachine(each) && each.isMain) || each.name === wanted);
  const [only] = new Map(fitting.map((each) => [each.id, each])).values();
  if (only && fitting.every(({ id }) => id === only.id)) return only;
  if (only) throw several(fitting, wanted);
  const known = parts.flatMap(({ name, machineName }) => [machineName, name]);
  throw nothing("part or machine", wanted, known, context);
}

/** The one part that options name: of a machine its main part unless another is named. */
export async function choosePart(
  context: CloudContext,
  { machine, part }: WantedMachine,
): Promise<ChosenPart> {
  const fitting = partsOf(await listMachines(context)).filter((each) =>
    isOneOf(machine, each.machineId, each.machineName) &&
    (part === undefined ? each.isMain : isPart(part, each))
  );
  const [only] = fitting;
  if (only && fitting.length === 1) return only;
  if (!only) throw new UsageError("no machine fits --machine and --part");
  const all = fitting.map(({ id, machineName }) => `${machineName} (part ${id})`).join(", ");
  throw new UsageError(`several machines are there; name one with --machine: ${all}`);
}

/** Whether a thing is the one that is wanted, by its id or its name. */
export function isOneOf(wanted: string | undefined, id: string, name: string): boolean {
  return wanted === undefined || wanted === id || wanted === name;
}

/** Whether a part is the one of an option, which says it as `partArgument` does. */
export function isPart(
  wanted: string | undefined,
  { id, name, machineId, machineName, isMain = true }: ChosenPart & { readonly isMain?: boolean },
): boolean {
  return isOneOf(wanted, id, name) || wanted === `${machineName}:${name}` ||
    (isMain && isOneOf(wanted, machineId, machineName));
}

interface ListedPart extends ChosenPart {
  readonly isMain: boolean;
}

function partsOf(machines: readonly ChosenMachine[]): ListedPart[] {
  return machines.flatMap(({ id: machineId, name: machineName, parts }) =>
    parts.map(({ partId: id, partName: name, isMainPart: isMain }) => ({
      ...{ id, name, isMain, machineId, machineName },
    }))
  );
}

function several(parts: readonly ListedPart[], wanted: string): UsageError {
  const all = parts.map(({ id, name, machineName }) => `${id} (${machineName}:${name})`).join(", ");
  return new UsageError(`several parts fit ${JSON.stringify(wanted)}: ${all}; give the id of one`);
}

function nothing(
  what: string,
  wanted: string,
  known: readonly string[],
  { program }: CloudContext,
): UsageError {
  const near = nearestName(wanted, known);
  const hint = near === undefined
    ? `; ${program === "machine" ? "machine machines list" : "the console"} shows what there is`
    : ` (did you mean ${near}?)`;
  return new UsageError(`there is no ${what} ${JSON.stringify(wanted)} that you may see${hint}`);
}
