import {
  chooseMachine,
  findPart,
  listMachines,
  partArgument,
} from "../../shared/commands/choice/part.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { isoTime, timeText } from "../../shared/commands/output/times.ts";
import { clientOf, command, type CommandTree, done } from "../../shared/commands/run/command.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import type { Confirm } from "../asking/confirm.ts";
import { credentialsOf, writeCredentials } from "./credentials.ts";
import { partJson, stateName } from "./machine_commands.ts";

/** Commands about the parts of machines. */
export function partCommands(confirm: Confirm): CommandTree {
  return {
    "parts list": command({
      summary: "List the parts of a machine, or of all.",
      flags: {},
      arguments: [{ placeholder: "MACHINE", doc: "Id or name. Default: all.", optional: true }],
      async run(context, { arguments: [wanted] }) {
        const machines = wanted === undefined
          ? await listMachines(context)
          : [await chooseMachine(context, wanted)];
        const parts = machines.flatMap((machine) =>
          machine.parts.map((part) => ({ machine, part }))
        );
        const rows = parts.map(({ machine, part }) => [
          ...[part.partId, machine.name, part.partName, part.isMainPart ? "main" : ""],
          ...[stateName(part), timeText(part.lastAccess)],
        ]);
        const heading = ["ID", "MACHINE", "PART", "", "STATE", "LAST SEEN"];
        return {
          json: parts.map(({ machine, part }) => ({
            ...partJson(part),
            machine_id: machine.id,
            machine_name: machine.name,
          })),
          text: textTable([heading, ...rows], context.terminal.columns),
          ids: parts.map(({ part }) => part.partId),
        };
      },
    }),
    "parts get": command({
      summary: "Show a part: its addresses and when it was saved; not its secrets.",
      flags: {},
      arguments: [partArgument],
      async run(context, { arguments: [wanted = ""] }) {
        const { id, machineName } = await findPart(context, wanted);
        const { part } = await (await clientOf(context, AppService)).getRobotPart({ id });
        const json = {
          id,
          name: part?.name,
          machine_id: part?.robot,
          machine_name: machineName,
          main: part?.mainPart,
          fqdn: part?.fqdn,
          local_fqdn: part?.localFqdn,
          last_access: isoTime(part?.lastAccess),
          last_updated: isoTime(part?.lastUpdated),
        };
        const rows = Object.entries(json).map(([name, value]) => [
          name.replaceAll("_", " "),
          String(value ?? "-"),
        ]);
        return { json, text: textTable(rows), ids: [id] };
      },
    }),
    "parts credentials": command({
      summary: "Write the file by which a part signs in, with its secret.",
      flags: {
        "out": {
          type: "string",
          placeholder: "FILE",
          doc: "Where to write; only you can read it. Default: standard output.",
        },
      },
      arguments: [partArgument],
      footer: "On the machine: machine-server -config FILE, or machine-agent -c FILE.",
      async run(context, { values: { out }, arguments: [wanted = ""] }) {
        const { id, name } = await findPart(context, wanted);
        const { part } = await (await clientOf(context, AppService)).getRobotPart({ id });
        if (!part) throw new Error(`the cloud answers nothing about part ${name}; try again`);
        if (out === undefined) {
          const json = await credentialsOf(context, part);
          return { json, text: `${JSON.stringify(json, null, 2)}\n` };
        }
        await writeCredentials(context, part, out);
        return done({ id, file: out }, `the credentials of ${name} are in ${out}`);
      },
    }),
    "parts create": command({
      summary: "Add a part to a machine.",
      flags: {},
      arguments: [
        { placeholder: "MACHINE", doc: "Id or name of the machine." },
        { placeholder: "NAME", doc: "What the part is called." },
      ],
      async run(context, { arguments: [wanted = "", partName = ""] }) {
        const machine = await chooseMachine(context, wanted);
        const app = await clientOf(context, AppService);
        const { partId: id } = await app.newRobotPart({ robotId: machine.id, partName });
        return done(
          { id, name: partName, machine_id: machine.id },
          `part ${partName} of ${machine.name} is made: ${id}`,
        );
      },
    }),
    "parts rename": command({
      summary: "Give a part another name.",
      flags: {},
      arguments: [partArgument, { placeholder: "NAME", doc: "The new name." }],
      async run(context, { arguments: [wanted = "", name = ""] }) {
        const { id, name: before } = await findPart(context, wanted);
        const app = await clientOf(context, AppService);
        const { part } = await app.getRobotPart({ id });
        await app.updateRobotPart({
          ...{ id, name },
          ...(part?.robotConfigJson === undefined
            ? { robotConfig: part?.robotConfig ?? {} }
            : { robotConfigJson: part.robotConfigJson }),
          ...(part?.lastUpdated ? { lastKnownUpdate: part.lastUpdated } : {}),
        });
        return done({ id, name }, `part ${before} is ${name} now`);
      },
    }),
    "parts main": command({
      summary: "Make a part the one that clients of its machine connect to.",
      flags: {},
      arguments: [partArgument],
      async run(context, { arguments: [wanted = ""] }) {
        const { id, name, machineName } = await findPart(context, wanted);
        await (await clientOf(context, AppService)).markPartAsMain({ partId: id });
        return done({ id, name }, `${name} is the main part of ${machineName} now`);
      },
    }),
    "parts delete": command({
      summary: "Delete a part that is not the main one.",
      flags: { "yes": { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } },
      arguments: [partArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const { id, name, machineName } = await findPart(context, wanted);
        await confirm(context, values.yes, `delete part ${name} of ${machineName} (${id})?`);
        await (await clientOf(context, AppService)).deleteRobotPart({ partId: id });
        return done({ id, name }, `deleted part ${name}`);
      },
    }),
  };
}
