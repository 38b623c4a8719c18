import { toJson } from "@bufbuild/protobuf";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import {
  DeliverySchema,
  TriggerSchema,
  TriggerService,
} from "../../gen/machine/cloud/v1/triggers_pb.ts";
import { previewTrigger } from "./preview.ts";
import { readTrigger } from "./read_trigger.ts";
import { chooseTrigger, listAll } from "./trigger_choice.ts";
import type { ownersFlags, setFlags, triggerCommands } from "./trigger_flags.ts";
import { deliveryTable, testFailure, testTable, triggerTable } from "./trigger_texts.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { chooseLocation } from "../choice/location.ts";
import { chooseMachine, choosePart } from "../choice/part.ts";
import {
  clientOf,
  type CloudContext,
  type CommandContext,
  type CommandOf,
  done,
  type Output,
} from "../run/command.ts";

/** One of the commands about triggers, as the command line requests it. */
export type TriggerCommand = CommandOf<typeof triggerCommands>;

/** Does what the command line requests. */
export async function runTriggerCommand(
  parsed: TriggerCommand,
  context: CommandContext,
): Promise<Output> {
  const triggers = await clientOf(context, TriggerService);
  const [argument = ""] = parsed.arguments;
  switch (parsed.command) {
    case "trigger list": {
      const all = await listAll(triggers, parsed.values);
      const { machine, part } = parsed.values;
      // There may be none of that machine, or no such machine.
      if (all.length === 0 && (machine ?? part) !== undefined) {
        await choosePart(context, parsed.values);
      }
      const json = all.map((one) => toJson(TriggerSchema, one));
      return {
        json,
        text: triggerTable(all, context.commandLine("trigger set")),
        ids: all.map(({ name }) => name),
      };
    }
    case "trigger set":
      return await set(context, parsed.values, argument);
    case "trigger delete": {
      const { partId, name, machineName } = await chooseTrigger(context, parsed.values, argument);
      await triggers.deleteTrigger({ partId, name });
      return done({ name, part_id: partId }, `removed trigger ${name} of ${machineName}`);
    }
    case "trigger preview":
      return await previewTrigger(context, parsed.values, argument);
    case "trigger test": {
      const { partId, name } = await chooseTrigger(context, parsed.values, argument);
      const { deliveries } = await triggers.testTrigger({ partId, name });
      const json = deliveries.map((one) => toJson(DeliverySchema, one));
      return {
        json,
        text: testTable(deliveries),
        ids: deliveries.map(({ id }) => id),
        failure: testFailure(deliveries),
      };
    }
    case "trigger deliveries": {
      const { partId, name: triggerName } = await chooseTrigger(context, parsed.values, argument);
      const { limit } = parsed.values;
      const { deliveries } = await triggers.listDeliveries({ partId, triggerName, limit });
      const json = deliveries.map((one) => toJson(DeliverySchema, one));
      return { json, text: deliveryTable(deliveries), ids: deliveries.map(({ id }) => id) };
    }
    case "trigger replay":
      await triggers.replayDelivery({ deliveryId: argument });
      return done(
        { id: argument },
        `${argument} is sent once more; ${
          context.commandLine("trigger deliveries")
        } shows the outcome`,
      );
    case "trigger secret": {
      const { partId, name } = await chooseTrigger(context, parsed.values, argument);
      const { secret } = parsed.values.rotate
        ? await triggers.rotateTriggerSecret({ partId, name })
        : await triggers.getTriggerSecret({ partId, name });
      return { json: { name, secret }, text: `${secret}\n`, ids: [secret] };
    }
    case "trigger owners":
      return await owners(context, parsed.values);
  }
}

async function set(
  context: CloudContext,
  flags: FlagValues<typeof setFlags>,
  file: string,
): Promise<Output> {
  const trigger = await readTrigger(file);
  const part = await choosePart(context, flags);
  const { replaces = "" } = flags;
  const client = await clientOf(context, TriggerService);
  await client.setTrigger({ partId: part.id, trigger, replaces });
  const { triggers } = await client.listTriggers({ partId: part.id });
  const problem = triggers.find(({ name }) => name === trigger["name"])?.problem;
  const saved = `trigger ${String(trigger["name"])} of ${part.machineName} is saved`;
  const text = problem ? `${saved}, but: ${problem}` : saved;
  return done({ name: trigger["name"], part_id: part.id, problem: problem ?? "" }, text);
}

async function owners(
  context: CloudContext,
  flags: FlagValues<typeof ownersFlags>,
): Promise<Output> {
  const triggers = await clientOf(context, TriggerService);
  const resource = { resource: await ownedBy(context, flags) };
  if (flags.set.length > 0) {
    const emails = flags.set.flatMap((each) => each.split(","))
      .map((email) => email.trim()).filter((email) => email !== "" && email !== "none");
    await triggers.setOwnerEmails({ resource, emails });
  }
  const { emails } = await triggers.listOwnerEmails({ resource });
  const text = emails.length > 0
    ? emails.join("\n")
    : `no addresses; set some with ${
      context.commandLine("trigger owners")
    } --set a@example.com,b@example.com`;
  return { json: emails, text: `${text}\n`, ids: emails };
}

async function ownedBy(context: CloudContext, flags: FlagValues<typeof ownersFlags>) {
  const { machine, location } = flags;
  if (machine !== undefined && location !== undefined) {
    throw new UsageError("--machine and --location do not go together; give one of them");
  }
  if (machine !== undefined) {
    return { case: "machineId", value: (await chooseMachine(context, machine)).id } as const;
  }
  if (location !== undefined) {
    return { case: "locationId", value: (await chooseLocation(context, location)).id } as const;
  }
  return { case: "organizationId", value: (await chooseOrganization(context)).id } as const;
}
