import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import {
  type FlagValues,
  type ParsedCommand,
  UsageError,
} from "../../../shared/base/flags/flags.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { DeliverySchema } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import { withAdvice } from "../../local/connection/cloud_connection.ts";
import { choosePart } from "../../local/connection/part_choice.ts";
import { readPlace } from "../../local/connection/place_flags.ts";
import { withPlainFailures } from "../../local/connection/plain_failures.ts";
import {
  connectToTriggers,
  type TriggerConnection,
  type TriggerDeps,
} from "./trigger_connection.ts";
import { chooseTrigger, listAll } from "./trigger_choice.ts";
import type { ownersFlags, setFlags, triggerCommands } from "./trigger_flags.ts";
import { deliveryTable, testTable, triggerTable } from "./trigger_texts.ts";

/** One of the commands about triggers, as the command line asks for it. */
export type TriggerCommand = Extract<
  ParsedCommand<typeof triggerCommands>,
  { readonly command: keyof typeof triggerCommands }
>;

/** Does what the command line asks for and gives back what to print. */
export function runTriggerCommand(parsed: TriggerCommand, deps: TriggerDeps): Promise<string> {
  return withPlainFailures(async () => {
    const { org } = parsed.values;
    await using connection = await connectToTriggers(readPlace(parsed.values), org, deps);
    try {
      return await run(parsed, connection);
    } catch (error) {
      throw connection.url === undefined ? error : withAdvice(error, connection.url);
    }
  });
}

async function run(parsed: TriggerCommand, connection: TriggerConnection): Promise<string> {
  const { triggers } = connection;
  const [argument = ""] = parsed.arguments;
  switch (parsed.command) {
    case "trigger list":
      return triggerTable(await listAll(triggers, parsed.values));
    case "trigger set":
      return await set(connection, parsed.values, argument);
    case "trigger delete": {
      const { partId, name, machineName } = await chooseTrigger(triggers, parsed.values, argument);
      await triggers.deleteTrigger({ partId, name });
      return `removed trigger ${name} of ${machineName}\n`;
    }
    case "trigger test": {
      const { partId, name } = await chooseTrigger(triggers, parsed.values, argument);
      return testTable((await triggers.testTrigger({ partId, name })).deliveries);
    }
    case "trigger deliveries": {
      const { partId, name: triggerName } = await chooseTrigger(triggers, parsed.values, argument);
      const { limit, json } = parsed.values;
      const { deliveries } = await triggers.listDeliveries({ partId, triggerName, limit });
      if (!json) return deliveryTable(deliveries);
      return deliveries.map((one) => `${JSON.stringify(toJson(DeliverySchema, one))}\n`).join("");
    }
    case "trigger replay":
      await triggers.replayDelivery({ deliveryId: argument });
      return `${argument} is sent once more; machine-cloud trigger deliveries tells how it went\n`;
    case "trigger secret": {
      const { partId, name } = await chooseTrigger(triggers, parsed.values, argument);
      const { secret } = parsed.values.rotate
        ? await triggers.rotateTriggerSecret({ partId, name })
        : await triggers.getTriggerSecret({ partId, name });
      return `${secret}\n`;
    }
    case "trigger owners":
      return await owners(connection, parsed.values);
  }
}

async function set(
  connection: TriggerConnection,
  flags: FlagValues<typeof setFlags>,
  file: string,
): Promise<string> {
  const trigger = await readTrigger(file);
  const part = await choosePart(connection.app, flags);
  const { replaces = "" } = flags;
  await connection.triggers.setTrigger({ partId: part.id, trigger, replaces });
  const { triggers } = await connection.triggers.listTriggers({ partId: part.id });
  const problem = triggers.find(({ name }) => name === trigger["name"])?.problem;
  const saved = `trigger ${String(trigger["name"])} of ${part.machineName} is saved`;
  return problem ? `${saved}, but: ${problem}\n` : `${saved}\n`;
}

async function readTrigger(file: string): Promise<JsonObject> {
  let text: string;
  try {
    text = file === "-"
      ? await new Response(Deno.stdin.readable).text()
      : await Deno.readTextFile(file);
  } catch (error) {
    throw toFileError(error, "read the trigger", file);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = toError(error).message;
    throw new UsageError(`${file} is no JSON: ${reason}`, { cause: error });
  }
  if (isJsonObject(value)) return value;
  throw new UsageError(`${file}: a trigger is a JSON object with name, event and notifications`);
}

async function owners(
  { triggers, app }: TriggerConnection,
  flags: FlagValues<typeof ownersFlags>,
): Promise<string> {
  const resource = { resource: await ownedBy(app, flags) };
  if (flags.set !== undefined) {
    const emails = flags.set === "none"
      ? []
      : flags.set.split(",").map((email) => email.trim()).filter((email) => email !== "");
    await triggers.setOwnerEmails({ resource, emails });
  }
  const { emails } = await triggers.listOwnerEmails({ resource });
  if (emails.length > 0) return `${emails.join("\n")}\n`;
  return "no addresses; set some with machine-cloud trigger owners --set a@example.com,b@example.com\n";
}

async function ownedBy(app: TriggerConnection["app"], flags: FlagValues<typeof ownersFlags>) {
  const { machine, location } = flags;
  if (machine !== undefined && location !== undefined) {
    throw new UsageError("--machine and --location do not go together; give one of them");
  }
  if (machine !== undefined) return { case: "machineId", value: machine } as const;
  if (location !== undefined) return { case: "locationId", value: location } as const;
  const { organizations: [organization] } = await app.listOrganizations({});
  return { case: "organizationId", value: organization?.id ?? "" } as const;
}
