import { UsageError } from "../../base/flags/flags.ts";
import { nearestName } from "../../base/flags/nearest.ts";
import { FleetService } from "../../gen/machine/cloud/v1/fleet_pb.ts";
import type { MachineSummary, PartSummary } from "../../gen/viam/app/v1/app_pb.ts";
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

/** As many as the cloud gives at once. */
const PAGE = 1_000n;
/** Of those that fit, in an error. */
const MOST_NAMED = 10;

/** Which machines are listed; left out: all. */
export interface ListedMachines {
  readonly locationIds?: readonly string[];
  /** Those with one of these ids or names, or with a part of one. */
  readonly called?: readonly string[];
}

/** Machines of the organisation that the caller may see, by location and name. */
export async function listMachines(
  context: CloudContext,
  { locationIds = [], called = [] }: ListedMachines = {},
): Promise<ChosenMachine[]> {
  const { id: organizationId } = await chooseOrganization(context);
  const fleet = await clientOf(context, FleetService);
  const wanted = { organizationId, locationIds: [...locationIds], called: [...called] };
  const machines: ChosenMachine[] = [];
  let pageToken = "";
  do {
    const page = await fleet.listMachines({ ...wanted, pageToken, pageLimit: PAGE });
    for (const { locationId, locationName, machineSummaries } of page.locations) {
      machines.push(
        ...machineSummaries.map((machine) => machineOf(machine, locationId, locationName)),
      );
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return machines;
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
  const machines = await listMachines(context, { called: [wanted] });
  const byId = machines.find(({ id }) => id === wanted);
  if (byId) return byId;
  const named = machines.filter(({ name }) => name === wanted);
  const [only] = named;
  if (only && named.length === 1) return only;
  if (only) {
    const all = someOf(named.map(({ id, locationName }) => `${id} (in ${locationName})`));
    throw new UsageError(`several machines are called ${JSON.stringify(wanted)}: ${all}`);
  }
  const known = (await listMachines(context)).map(({ name }) => name);
  throw nothing("machine", wanted, known, context);
}

/**
 * The part that a text stands for: its id or name, `MACHINE:PART`, or a machine by its id or name,
 * which stands for its main part.
 *
 * @throws {UsageError} that says which fit, or what is near
 */
export async function findPart(context: CloudContext, wanted: string): Promise<ChosenPart> {
  const parts = partsOf(await listMachines(context, { called: namesIn(wanted) }));
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
  const known = partsOf(await listMachines(context))
    .flatMap(({ name, machineName }) => [machineName, name]);
  throw nothing("part or machine", wanted, known, context);
}

/** The one part that options name: of a machine its main part unless another is named. */
export async function choosePart(
  context: CloudContext,
  { machine, part }: WantedMachine,
): Promise<ChosenPart> {
  const called = machine !== undefined ? [machine] : namesIn(part);
  const fitting = partsOf(await listMachines(context, { called })).filter((each) =>
    isOneOf(machine, each.machineId, each.machineName) &&
    (part === undefined ? each.isMain : isPart(part, each))
  );
  const [only] = fitting;
  if (only && fitting.length === 1) return only;
  if (!only) throw new UsageError("no machine fits --machine and --part");
  const all = someOf(fitting.map(({ id, machineName }) => `${machineName} (part ${id})`));
  throw new UsageError(`several machines are there; name one with --machine: ${all}`);
}

/** What a text can name, whose first piece may be a machine and the second a part. */
function namesIn(wanted: string | undefined): string[] {
  if (wanted === undefined) return [];
  const [machine = ""] = wanted.split(":", 1);
  return machine === wanted ? [wanted] : [wanted, machine];
}

/** A list for a line of text. */
function someOf(texts: readonly string[]): string {
  const more = texts.length - MOST_NAMED;
  return texts.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
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
  const all = someOf(parts.map(({ id, name, machineName }) => `${id} (${machineName}:${name})`));
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
