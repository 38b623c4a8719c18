import type { Client } from "@connectrpc/connect";
import { UsageError } from "../../shared/flags/flags.ts";
import type { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import type { Trigger, TriggerService } from "../../shared/gen/machine/cloud/v1/triggers_pb.ts";

/** What a command line says of the machine. */
export interface WantedMachine {
  /** Ids or names. */
  readonly machine?: string | undefined;
  readonly part?: string | undefined;
}

/** Triggers of the machines that are wanted. */
export async function listAll(
  client: Client<typeof TriggerService>,
  wanted: WantedMachine,
): Promise<Trigger[]> {
  const all: Trigger[] = [];
  let pageToken = "";
  do {
    const page = await client.listTriggers({ pageToken });
    all.push(...page.triggers);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return all.filter((one) =>
    isOneOf(wanted.machine, one.machineId, one.machineName) &&
    isOneOf(wanted.part, one.partId, one.partName)
  );
}

/** The one trigger of a name. @throws {UsageError} that says which there are */
export async function chooseTrigger(
  client: Client<typeof TriggerService>,
  wanted: WantedMachine,
  name: string,
): Promise<Trigger> {
  const all = await listAll(client, wanted);
  const fitting = all.filter((one) => one.name === name);
  const [only] = fitting;
  if (only && fitting.length === 1) return only;
  if (only) {
    const machines = fitting.map((one) => `${one.machineName} (part ${one.partId})`).join(", ");
    throw new UsageError(
      `several machines have a trigger ${JSON.stringify(name)}: ${machines}; name one with ` +
        "--machine or --part",
    );
  }
  const known = [...new Set(all.map((one) => one.name))];
  const there = known.length === 0
    ? "there is none; add one with machine-cloud trigger set"
    : `there is ${known.join(", ")}`;
  throw new UsageError(`no trigger ${JSON.stringify(name)} here, ${there}`);
}

export interface ChosenPart {
  readonly id: string;
  readonly machineName: string;
}

/** The one part that is wanted; of a machine its main part unless another is named. */
export async function choosePart(
  app: Client<typeof AppService>,
  wanted: WantedMachine,
): Promise<ChosenPart> {
  const { organizations: [organization] } = await app.listOrganizations({});
  const { locations } = await app.listLocations({ organizationId: organization?.id ?? "" });
  const found: ChosenPart[] = [];
  for (const { id: locationId } of locations) {
    const { robots } = await app.listRobots({ locationId });
    for (const robot of robots.filter(({ id, name }) => isOneOf(wanted.machine, id, name))) {
      const { parts } = await app.getRobotParts({ robotId: robot.id });
      const fitting = parts.filter(({ id, name, mainPart }) =>
        wanted.part === undefined ? mainPart : isOneOf(wanted.part, id, name)
      );
      found.push(...fitting.map(({ id }) => ({ id, machineName: robot.name })));
    }
  }
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only) throw new UsageError("no machine fits --machine and --part");
  const all = found.map(({ id, machineName }) => `${machineName} (part ${id})`).join(", ");
  throw new UsageError(`several machines are there; name one with --machine: ${all}`);
}

function isOneOf(wanted: string | undefined, id: string, name: string): boolean {
  return wanted === undefined || wanted === id || wanted === name;
}
