import type { Client } from "@connectrpc/connect";
import { UsageError } from "../../base/flags/flags.ts";
import { type Trigger, TriggerService } from "../../gen/machine/cloud/v1/triggers_pb.ts";
import { isOneOf, isPart, type WantedMachine } from "../choice/part.ts";
import { clientOf, type CloudContext } from "../run/command.ts";

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
    isPart(wanted.part, { ...one, id: one.partId, name: one.partName })
  );
}

/** The one trigger of a name. @throws {UsageError} that says which there are */
export async function chooseTrigger(
  context: CloudContext,
  wanted: WantedMachine,
  name: string,
): Promise<Trigger> {
  const all = await listAll(await clientOf(context, TriggerService), wanted);
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
    ? `there is none; add one with ${context.commandLine("trigger set")}`
    : `there is ${known.join(", ")}`;
  throw new UsageError(`no trigger ${JSON.stringify(name)} here, ${there}`);
}
