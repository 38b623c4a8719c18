import type { Client } from "@connectrpc/connect";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";

/** What a command line says of the machine. */
export interface WantedMachine {
  /** Ids or names. */
  readonly machine?: string | undefined;
  readonly part?: string | undefined;
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

/** Whether a thing is the one that is wanted, by its id or its name. */
export function isOneOf(wanted: string | undefined, id: string, name: string): boolean {
  return wanted === undefined || wanted === id || wanted === name;
}
