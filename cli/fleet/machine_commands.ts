import { toJson } from "@bufbuild/protobuf";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import {
  chooseMachine,
  type ChosenMachine,
  listMachines,
} from "../../shared/commands/choice/part.ts";
import { chooseLocation } from "../../shared/commands/choice/location.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { paint } from "../../shared/commands/output/terminal.ts";
import { isoTime, timeText } from "../../shared/commands/output/times.ts";
import {
  clientOf,
  command,
  type CommandContext,
  type CommandTree,
  done,
} from "../../shared/commands/run/command.ts";
import { AppService, OnlineState, type PartSummary } from "../../shared/gen/viam/app/v1/app_pb.ts";
import {
  ConsoleService,
  type GetMachinePositionResponse,
  GetMachinePositionResponseSchema,
  type GetPartLiveStatusResponse,
  GetPartLiveStatusResponseSchema,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { ResourceStatus_State } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Confirm } from "../asking/confirm.ts";
import { writeCredentials } from "./credentials.ts";
import { templateFlags, templateOf } from "./enrollment_commands.ts";
import { createListed, parseMachineList } from "./machine_list_file.ts";

const machineArgument = { placeholder: "MACHINE", doc: "Id or name of the machine." };
const yesFlag = { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } as const;

/** Commands about machines as a whole. */
export function machineCommands(confirm: Confirm): CommandTree {
  return {
    "machines list": command({
      summary: "List machines and whether they are online.",
      flags: {
        "location": { type: "string", placeholder: "ID", doc: "Only those of a location." },
      },
      async run(context, { values: { location } }) {
        const locationIds = location === undefined
          ? []
          : [(await chooseLocation(context, location)).id];
        const machines = await listMachines(context, { locationIds });
        const rows = machines.map((machine) => [
          machine.id,
          machine.name,
          machine.locationName,
          stateName(mainOf(machine)),
          timeText(mainOf(machine)?.lastAccess),
        ]);
        const text = rows.length === 0
          ? `no machines; make one with ${context.program} machines create NAME --location ID\n`
          : textTable(
            [["ID", "MACHINE", "LOCATION", "STATE", "LAST SEEN"], ...rows],
            context.terminal.columns,
          );
        return { json: machines.map(machineJson), text, ids: machines.map(({ id }) => id) };
      },
    }),
    "machines create": command({
      summary: "Make a machine and print its ids, or many of a list.",
      flags: {
        "csv": {
          type: "string",
          placeholder: "FILE",
          doc: "In place of NAME: CSV with the columns name and, optionally, fragments and tags. " +
            "Machines that are there stay as they are.",
        },
        "credentials-dir": {
          type: "string",
          placeholder: "DIR",
          doc: "With --csv: write the file by which each signs in as DIR/NAME.json.",
        },
        ...templateFlags,
        "location": {
          type: "string",
          placeholder: "ID",
          doc: "Id or name of the location. Default: the only one there is.",
        },
        "credentials-out": {
          type: "string",
          placeholder: "FILE",
          doc: "Write the file by which machine-server and machine-agent sign in (-config FILE).",
        },
      },
      arguments: [{
        ...{ placeholder: "NAME", doc: "What it is called, once in its location." },
        optional: true,
      }],
      async run(context, { values, arguments: [name] }) {
        checkTogether(values, name);
        const location = await chooseLocation(context, values.location);
        const template = templateOf(values);
        if (values.csv !== undefined || template.fragmentIds.length + template.tags.length > 0) {
          const machines = values.csv === undefined
            ? [{ name: name ?? "", template }]
            : parseMachineList(await readText(values.csv), values.csv);
          const credentialsDir = values["credentials-dir"];
          return await createListed(context, machines, {
            ...{ locationId: location.id, credentialsDir },
          });
        }
        const app = await clientOf(context, AppService);
        const { id } = await app.newRobot({ name: name ?? "", location: location.id });
        const { parts: [part] } = await app.getRobotParts({ robotId: id });
        const file = values["credentials-out"];
        if (file !== undefined && part) await writeCredentials(context, part, file);
        return done(
          {
            ...{ id, name, location_id: location.id, part_id: part?.id ?? "" },
            fqdn: part?.fqdn ?? "",
          },
          `machine ${name} is made: ${id}, part ${part?.id}` +
            (file === undefined
              ? `; ${context.program} parts credentials ${id} --out machine.json writes the file ` +
                "by which it signs in"
              : `; its credentials are in ${file}: machine-server -config ${file}`),
        );
      },
    }),
    "machines rename": command({
      summary: "Give a machine another name.",
      flags: {},
      arguments: [machineArgument, { placeholder: "NAME", doc: "The new name." }],
      async run(context, { arguments: [wanted = "", name = ""] }) {
        const machine = await chooseMachine(context, wanted);
        const app = await clientOf(context, AppService);
        await app.updateRobot({ id: machine.id, name, location: machine.locationId });
        return done({ id: machine.id, name }, `machine ${machine.name} is ${name} now`);
      },
    }),
    "machines move": command({
      summary: "Put a machine into another location.",
      flags: {},
      arguments: [machineArgument, { placeholder: "LOCATION", doc: "Id or name." }],
      async run(context, { arguments: [wanted = "", to = ""] }) {
        const machine = await chooseMachine(context, wanted);
        const location = await chooseLocation(context, to);
        const app = await clientOf(context, AppService);
        await app.updateRobot({ id: machine.id, name: machine.name, location: location.id });
        return done(
          { id: machine.id, location_id: location.id },
          `machine ${machine.name} is in ${location.name} now`,
        );
      },
    }),
    "machines delete": command({
      summary: "Delete a machine, with its configuration and secrets.",
      flags: { "yes": yesFlag },
      arguments: [machineArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const machine = await chooseMachine(context, wanted);
        await confirm(context, values.yes, `delete machine ${machine.name} (${machine.id})?`);
        await (await clientOf(context, AppService)).deleteRobot({ id: machine.id });
        return done({ id: machine.id, name: machine.name }, `deleted machine ${machine.name}`);
      },
    }),
    "machines status": command({
      summary: "Show what a machine reports of itself: parts, versions, resources, problems.",
      flags: {},
      arguments: [machineArgument],
      async run(context, { arguments: [wanted = ""] }) {
        const machine = await chooseMachine(context, wanted);
        const client = await clientOf(context, ConsoleService);
        const parts = await Promise.all(machine.parts.map(async (part) => ({
          part,
          status: await client.getPartLiveStatus({ partId: part.partId }),
        })));
        const place = await client.getMachinePosition({ machineId: machine.id });
        const json = {
          ...machineJson(machine),
          position: toJson(GetMachinePositionResponseSchema, place),
          parts: parts.map(({ part, status }) => ({
            ...partJson(part),
            status: toJson(GetPartLiveStatusResponseSchema, status),
          })),
        };
        const text = parts.map(({ part, status }) => statusText(context, part, status)).join("\n");
        return {
          json,
          text: `${machine.name}, ${machine.locationName}${placeText(place)}\n\n${text}`,
          ids: [machine.id],
        };
      },
    }),
    "machines restart": command({
      summary: "Request a restart of a machine's server.",
      flags: {
        "part": {
          type: "string",
          placeholder: "PART",
          doc: "Id or name of the part. Default: the main part.",
        },
      },
      arguments: [machineArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const machine = await chooseMachine(context, wanted);
        const part = machine.parts.find((each) =>
          values.part === undefined
            ? each.isMainPart
            : [each.partId, each.partName].includes(values.part)
        );
        if (!part) {
          const names = machine.parts.map(({ partName }) => partName).join(", ");
          throw new UsageError(
            `--part: ${machine.name} has no part ${JSON.stringify(values.part)}; there is ${names}`,
          );
        }
        const partId = part.partId;
        await (await clientOf(context, AppService)).markPartForRestart({ partId });
        return done(
          { id: machine.id, part_id: partId },
          `${part.partName} restarts as soon as it receives the request`,
        );
      },
    }),
  };
}

function mainOf({ parts }: ChosenMachine): PartSummary | undefined {
  return parts.find(({ isMainPart }) => isMainPart);
}

const STATES: Readonly<Record<OnlineState, string>> = {
  [OnlineState.UNSPECIFIED]: "unknown",
  [OnlineState.ONLINE]: "online",
  [OnlineState.OFFLINE]: "offline",
  [OnlineState.AWAITING_SETUP]: "awaiting setup",
};

/** What a part is, in a word. */
export function stateName(part: Pick<PartSummary, "onlineState"> | undefined): string {
  return STATES[part?.onlineState ?? OnlineState.UNSPECIFIED];
}

function machineJson(machine: ChosenMachine) {
  return {
    id: machine.id,
    name: machine.name,
    location_id: machine.locationId,
    location_name: machine.locationName,
    state: stateName(mainOf(machine)),
    online: mainOf(machine)?.onlineState === OnlineState.ONLINE,
    last_access: isoTime(mainOf(machine)?.lastAccess),
    parts: machine.parts.map(partJson),
  };
}

/** A part as `--json` has it. */
export function partJson(part: PartSummary) {
  return {
    id: part.partId,
    name: part.partName,
    main: part.isMainPart,
    state: stateName(part),
    online: part.onlineState === OnlineState.ONLINE,
    last_access: isoTime(part.lastAccess),
    os: part.os ?? null,
    platform: part.platform ?? null,
  };
}

/** @throws {UsageError} for options that say nothing next to one another */
function checkTogether(
  values: Readonly<Record<string, unknown>>,
  name: string | undefined,
): void {
  const given = (option: string) => values[option] !== undefined;
  if ((name === undefined) !== given("csv")) {
    throw new UsageError("give the machine's NAME, or --csv FILE with a list of machines");
  }
  if (given("csv") && (given("fragments") || given("tags") || given("credentials-out"))) {
    throw new UsageError(
      "with --csv, fragments and tags are columns, and files need a folder: " +
        "--credentials-dir DIR",
    );
  }
  if (!given("csv") && given("credentials-dir")) {
    throw new UsageError("--credentials-dir goes with --csv; for one machine: --credentials-out");
  }
  if (given("credentials-out") && (given("fragments") || given("tags"))) {
    throw new UsageError(
      "--credentials-out does not go with --fragments and --tags; list the machine in a --csv FILE",
    );
  }
}

/** @throws {FileError} */
async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, "read the list of machines", path);
  }
}

function placeText({ position, movementSensor, time }: GetMachinePositionResponse): string {
  if (!position) return "";
  const source = movementSensor === "" ? "" : ` (${movementSensor}, ${timeText(time)})`;
  return `, ${position.latitude}, ${position.longitude}${source}`;
}

function statusText(
  { terminal }: CommandContext,
  part: PartSummary,
  status: GetPartLiveStatusResponse,
): string {
  const colour = status.online ? "green" : "red";
  const state = paint(terminal, colour, status.online ? "online" : stateName(part));
  const { resources = [], config } = status.status ?? {};
  const facts = [
    ["part", `${part.partName} (${part.partId})${part.isMainPart ? ", main" : ""}`],
    ["state", state],
    ["last seen", timeText(status.lastSeen)],
    ["machine-server", status.serverVersion],
    ["machine-agent", status.agentVersion],
    ["configuration", config?.revision ?? ""],
    ["problem", status.configError],
    ...status.configWarnings.map((warning) => ["warning", warning]),
  ].filter(([, value]) => value !== "") as string[][];
  const width = Math.max(...facts.map(([name = ""]) => name.length));
  const lines = facts.map(([name = "", value]) => `${name.padEnd(width)}  ${value}\n`).join("");
  if (resources.length === 0) return lines;
  const rows = resources.map(({ name, state, error }) => [
    name?.name ?? "",
    `${name?.namespace}:${name?.type}:${name?.subtype}`,
    ResourceStatus_State[state]?.toLowerCase() ?? "-",
    error,
  ]);
  return lines + "\n" +
    textTable([["RESOURCE", "API", "STATE", "PROBLEM"], ...rows], terminal.columns);
}
